-- A run's items with the answers they use, in the order in which the run came to them.
-- Parameters: run_id, most (how many at the most)
WITH own AS (
    SELECT request_key, count(*) AS attempts FROM attempts WHERE run_id = $run_id GROUP BY request_key
),
calls AS (
    SELECT run_id, call_no, list({id: id, name: name, arguments: arguments} ORDER BY position) AS tool_calls
    FROM tool_calls GROUP BY run_id, call_no
),
judged AS (
    SELECT request_key, map_from_entries(list((scorer, value) ORDER BY scorer)) AS scores
    FROM latest_scores WHERE run_id = $run_id GROUP BY request_key
)
SELECT
    item.request_key, item.sample_id, item.epoch, item.model AS requested_model, item.served_model, item.reused,
    item.outcome, item.http_status, coalesce(own.attempts, 0) AS attempts, item.latency_ms, item.prompt_tokens,
    item.completion_tokens, item.total_tokens, item.finish_reason, response.answer, response.reasoning,
    calls.tool_calls, judged.scores, item.evidence, item.error_text, sample.sample
FROM item_outcomes AS item
LEFT JOIN own USING (request_key)
LEFT JOIN responses AS response ON response.run_id = item.answer_run_id AND response.call_no = item.answer_call_no
LEFT JOIN calls ON calls.run_id = item.answer_run_id AND calls.call_no = item.answer_call_no
LEFT JOIN judged USING (request_key)
LEFT JOIN samples AS sample USING (sample_key)
WHERE item.run_id = $run_id
ORDER BY item.reused DESC, item.answer_call_no, item.request_key
LIMIT $most;
