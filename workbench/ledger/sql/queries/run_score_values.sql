-- The mean score of each sample of a run by model and scorer (several epochs of a sample are not independent).
-- Parameters: run_id
SELECT concat_ws(' · ', item.model, item.variant) AS model, score.scorer, item.sample_key, reduced(
    (SELECT any_value(reduce) FROM runs WHERE run_id = $run_id AND event = 'started'), list(score.value)
) AS value
FROM run_items AS item
JOIN counted_scores AS score USING (run_id, request_key)
WHERE item.run_id = $run_id AND score.value IS NOT NULL
GROUP BY ALL
HAVING value IS NOT NULL
ORDER BY model, score.scorer, item.sample_key;
