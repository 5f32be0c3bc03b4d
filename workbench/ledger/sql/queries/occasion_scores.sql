-- The scores of a job's occasions by model (and variant) and sample, and between which they are (see `sample_scores`), oldest first: of each occasion its
-- newest run that is complete, or whose gate was not met.
-- Parameters: job, scorer, until_at (NULL: all; otherwise occasions of runs that began until then)
WITH newest AS (
    SELECT occasion, arg_max(run_id, started_at) AS run_id, max(started_at) AS started_at
    FROM run_overview
    WHERE job = $job AND occasion IS NOT NULL AND status IN ('complete', 'gate_failed')
        AND ($until_at IS NULL OR started_at <= $until_at::TIMESTAMP)
    GROUP BY occasion
)
SELECT newest.occasion, newest.run_id, newest.started_at, sample.side AS model, sample.sample_key, sample.value, sample.low, sample.high
FROM newest JOIN sample_scores((SELECT list(run_id) FROM newest)) AS sample USING (run_id)
WHERE sample.scorer = $scorer AND sample.excluded IS NULL
ORDER BY newest.started_at, model, sample.sample_key;
