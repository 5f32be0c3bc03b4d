-- The scores of a job's occasions by scorer, model (and variant) and sample, and between which they are (see `sample_scores`): of each
-- occasion its newest run that is settled (complete, or its gate not met), or else its newest that ended. started_at: of the
-- occasion's first such run, by which they are in order, so that to run one again moves it nowhere. scorers: how many its job has;
-- unsent: of how many samples nothing was sent. scale: the least and the most of value (NULL: nobody knows). Of the scorer NULL, the
-- value is less the logarithm of the ms that the model's own answers took.
-- Parameters: job, scorers (list), until_at (NULL: all; otherwise occasions of runs that began until then), most (the newest so many;
-- NULL: all)
WITH came AS (
    SELECT occasion, run_id, started_at, is_settled AS settled, coalesce(len(scorers), 0) AS scorers
    FROM run_overview
    WHERE job = $job AND occasion IS NOT NULL AND status IS NOT NULL AND ($until_at IS NULL OR started_at <= $until_at::TIMESTAMP)
),
newest AS (
    SELECT occasion, arg_max(run_id, (settled, started_at)) AS run_id, bool_or(settled) AS settled,
        arg_max(scorers, (settled, started_at)) AS scorers,
        coalesce(min(started_at) FILTER (settled), min(started_at)) AS started_at
    FROM came GROUP BY occasion
    QUALIFY $most IS NULL OR row_number() OVER (ORDER BY min(came.started_at) DESC) <= $most
),
unsent AS (
    SELECT run_id, count(DISTINCT sample_key) AS samples FROM unsent_samples
    WHERE run_id IN (SELECT run_id FROM newest) AND NOT EXISTS (
        SELECT 1 FROM run_items AS item WHERE item.run_id = unsent_samples.run_id AND item.sample_key = unsent_samples.sample_key
    )
    GROUP BY run_id
),
took AS (
    SELECT run_id, side, sample_key, -avg(ln(latency_ms)) FILTER (accepted AND NOT another AND latency_ms > 0) AS value
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
SELECT newest.occasion, newest.run_id, newest.started_at, newest.settled, newest.scorers, coalesce(unsent.samples, 0) AS unsent,
    found.scorer, found.side AS model, found.sample_key, found.value, found.low, found.high, found.of_scored, found.scale
FROM newest JOIN found USING (run_id) LEFT JOIN unsent USING (run_id)
ORDER BY newest.started_at, newest.occasion, found.scorer NULLS LAST, model, found.sample_key;
