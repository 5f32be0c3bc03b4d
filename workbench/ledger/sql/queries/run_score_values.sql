-- The score of each sample of a run by model and scorer, over its epochs (which are not independent) as the job reduces them.
-- Parameters: run_id
SELECT model, scorer, sample_key, reduced(reducer, scores) AS value
FROM (
    SELECT concat_ws(' · ', item.model, item.variant) AS model, score.scorer, item.sample_key, list(score.value) AS scores,
        any_value(run.reduce) AS reducer
    FROM run_items AS item
    JOIN counted_scores AS score USING (run_id, request_key)
    JOIN (SELECT reduce FROM runs WHERE run_id = $run_id AND event = 'started') AS run ON true
    WHERE item.run_id = $run_id AND score.value IS NOT NULL
    GROUP BY ALL
)
WHERE value IS NOT NULL
ORDER BY model, scorer, sample_key;
