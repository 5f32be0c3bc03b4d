-- Every tool call of every answer, one per row, in the order of the answer; arguments verbatim, usually JSON.
-- Parameters: run_id (NULL takes all): of the run that paid
SELECT call.run_id, call.call_no, attempt.request_key, attempt.sample_key, attempt.epoch, attempt.model AS requested_model,
    item.variant, attempt.served_model, call.position, call.name, call.arguments
FROM tool_calls AS call
JOIN attempts AS attempt USING (run_id, call_no)
LEFT JOIN (
    SELECT run_id, request_key, any_value(variant) AS variant FROM run_items
    WHERE $run_id IS NULL OR run_id = $run_id GROUP BY run_id, request_key
) AS item ON item.run_id = attempt.run_id AND item.request_key = attempt.request_key
WHERE $run_id IS NULL OR call.run_id = $run_id
ORDER BY call.run_id, call.call_no, call.position;
