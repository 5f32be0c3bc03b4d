-- The answers to some requests that a scorer that asks a model has judged, by the sample as it still is.
-- Parameters: request_keys (list), scorer, scorer_config
SELECT DISTINCT item.request_key, item.sample_key, item.answer_run_id AS run_id, item.answer_call_no AS call_no
FROM latest_scores AS score
JOIN run_items AS item ON item.run_id = score.run_id AND item.request_key = score.request_key
WHERE score.request_key IN (SELECT unnest($request_keys::VARCHAR[])) AND score.scorer = $scorer
    AND score.scorer_config = $scorer_config AND NOT starts_with(score.reason, 'pending: ')
    AND item.sample_key NOT IN (SELECT sample_key FROM standing_corrections)
ORDER BY item.request_key, run_id, call_no;
