-- Mean scores of the newest runs, by run, scorer and model (and variant), over samples (see `sample_scores`). scored: samples.
-- Parameters: most (how many runs)
WITH newest AS (SELECT run_id, job, started_at FROM run_overview ORDER BY started_at DESC NULLS LAST LIMIT $most)
SELECT newest.run_id, newest.job, newest.started_at, sample.scorer, sample.side AS model, count(sample.value) AS scored,
    avg(sample.value) AS mean
FROM newest JOIN sample_scores((SELECT list(run_id) FROM newest)) AS sample USING (run_id)
GROUP BY ALL HAVING count(sample.value) > 0
ORDER BY newest.started_at, sample.scorer, model;
