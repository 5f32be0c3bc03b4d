-- The scores of a job's occasions by model and sample, oldest first: of each occasion its newest run that is complete, or
-- whose gate was not met. Only answers that count.
-- Parameters: job, scorer, until_at (NULL: all; otherwise occasions of runs that began until then)
WITH newest AS (
    SELECT occasion, arg_max(run_id, started_at) AS run_id, max(started_at) AS started_at,
        arg_max(reduce, started_at) AS reduce
    FROM run_overview
    WHERE job = $job AND occasion IS NOT NULL AND status IN ('complete', 'gate_failed')
        AND ($until_at IS NULL OR started_at <= $until_at::TIMESTAMP)
    GROUP BY occasion
)
SELECT newest.occasion, newest.run_id, newest.started_at, concat_ws(' · ', item.model, item.variant) AS model,
    item.sample_key, reduced(any_value(newest.reduce), list(score.value)) AS value
FROM newest
JOIN run_items AS item USING (run_id)
JOIN counted_scores AS score
    ON score.run_id = item.run_id AND score.request_key = item.request_key AND score.scorer = $scorer
WHERE score.value IS NOT NULL
GROUP BY ALL
ORDER BY newest.started_at, model, item.sample_key;
