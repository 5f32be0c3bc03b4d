-- Every tool call of every answer, one per row, in the order of the answer; arguments verbatim, usually JSON.
-- Parameters: run_id (NULL takes all): of the run that paid
SELECT call.run_id, call.call_no, attempt.sample_key, attempt.epoch, attempt.model AS requested_model, attempt.served_model,
    call.position, call.name, call.arguments
FROM tool_calls AS call
JOIN attempts AS attempt USING (run_id, call_no)
WHERE $run_id IS NULL OR call.run_id = $run_id
ORDER BY call.run_id, call.call_no, call.position;
