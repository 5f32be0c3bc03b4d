-- Mean score of each of the newest runs by its job's first scorer, over the samples of all its models (see `sample_scores`);
-- by all scorers, where a run of an earlier version recorded none. Runs without scores are left out. scored: such scores.
-- Parameters: most (how many runs)
WITH newest AS (
    SELECT run_id, job, started_at, scorers[1] AS scorer FROM run_overview ORDER BY started_at DESC NULLS LAST LIMIT $most
)
SELECT newest.run_id, newest.job, newest.started_at, count(sample.value) AS scored, avg(sample.value) AS mean
FROM newest JOIN sample_scores((SELECT list(run_id) FROM newest)) AS sample USING (run_id)
WHERE newest.scorer IS NULL OR sample.scorer = newest.scorer
GROUP BY newest.run_id, newest.job, newest.started_at HAVING count(sample.value) > 0
ORDER BY newest.started_at, newest.run_id;
