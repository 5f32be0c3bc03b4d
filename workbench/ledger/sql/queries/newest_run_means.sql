-- Mean score of each of the newest runs by the first scorer of its job that scored anything, over the samples of all its models
-- (see `sample_scores`); by all scorers, where a run of an earlier version recorded none. Runs without scores are left out.
-- scored: such scores.
-- Parameters: most (how many runs)
WITH newest AS (
    SELECT run_id, job, started_at, scorers FROM run_overview ORDER BY started_at DESC NULLS LAST LIMIT $most
)
SELECT newest.run_id, newest.job, newest.started_at, count(sample.value) AS scored, avg(sample.value) AS mean
FROM newest JOIN sample_scores((SELECT list(run_id) FROM newest)) AS sample USING (run_id)
GROUP BY newest.run_id, newest.job, newest.started_at, list_position(newest.scorers, sample.scorer)
HAVING count(sample.value) > 0
QUALIFY row_number() OVER (
    PARTITION BY newest.run_id ORDER BY list_position(newest.scorers, sample.scorer) NULLS LAST
) = 1
ORDER BY newest.started_at, newest.run_id;
