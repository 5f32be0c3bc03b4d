-- The answers to some requests about which a scorer that asks a model has nothing more to ask, by the sample as it still is: those that it
-- has judged, and those of other models that it was not asked about and, by the job of now, need not be.
-- Parameters: request_keys (list), scorer, scorer_config, on_fallback (of the job)
SELECT DISTINCT item.request_key, item.recorded_key AS sample_key, item.answer_run_id AS run_id, item.answer_call_no AS call_no
FROM latest_scores AS score
JOIN item_identities AS item ON item.run_id = score.run_id AND item.request_key = score.request_key
WHERE score.request_key IN (SELECT unnest($request_keys::VARCHAR[])) AND score.scorer = $scorer
    AND score.scorer_config = $scorer_config AND NOT starts_with(score.reason, 'pending: ')
    AND (NOT starts_with(score.reason, 'left out: ') OR (item.another AND $on_fallback <> 'accept'))
    AND item.recorded_key NOT IN (SELECT sample_key FROM standing_corrections)
ORDER BY item.request_key, run_id, call_no;
