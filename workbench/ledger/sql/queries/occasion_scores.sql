-- The scores of a job's occasions by scorer, model (and variant) and sample, and between which they are (see `sample_scores`), the
-- oldest occasion first: of each its newest run that ended, however it did. scale: the least and the most of
-- value (NULL: nobody knows). Of the scorer NULL, the value is less the logarithm of the ms that own answers of this run took.
-- Parameters: job, scorers (list), until_at (NULL: all; otherwise occasions of runs that began until then)
WITH newest AS (
    SELECT occasion, arg_max(run_id, started_at) AS run_id, max(started_at) AS started_at
    FROM run_overview
    WHERE job = $job AND occasion IS NOT NULL AND status IS NOT NULL AND ($until_at IS NULL OR started_at <= $until_at::TIMESTAMP)
    GROUP BY occasion
),
took AS (
    SELECT run_id, side, sample_key, -avg(ln(latency_ms)) FILTER (accepted AND NOT another AND NOT reused AND latency_ms > 0) AS value
    FROM item_identities
    WHERE run_id IN (SELECT run_id FROM newest)
    GROUP BY run_id, side, sample_key
),
found AS (
    SELECT run_id, scorer, side, sample_key, value, low, high, of_scored, scale
    FROM sample_scores((SELECT list(run_id) FROM newest))
    WHERE list_contains($scorers::VARCHAR[], scorer) AND excluded IS NULL
    UNION ALL
    SELECT run_id, NULL AS scorer, side, sample_key, value, value AS low, value AS high, value AS of_scored, NULL AS scale FROM took
)
SELECT newest.occasion, newest.run_id, newest.started_at, found.scorer, found.side AS model, found.sample_key, found.value, found.low,
    found.high, found.of_scored, found.scale
FROM newest JOIN found USING (run_id)
ORDER BY newest.started_at, found.scorer NULLS LAST, model, found.sample_key;
