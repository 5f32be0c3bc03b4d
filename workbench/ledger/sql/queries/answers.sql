-- Every request of runs with the answer that the run uses, whoever paid for it.
-- Parameters: run_id (NULL takes all)
SELECT item.run_id, run.job, item.request_key, item.sample_id, item.own_id, item.sample_key, item.epoch, item.model AS requested_model,
    item.variant, item.served_model, item.identity, item.identity_evidence, item.counts, item.outcome, item.accepted,
    item.reused, item.sent_at, item.latency_ms, item.prompt_tokens, item.completion_tokens,
    item.reasoning_tokens, item.total_tokens, item.finish_reason, json_extract_string(sample.sample, '$.input') AS input,
    json_extract_string(sample.sample, '$.target') AS target,
    CAST(json_extract(sample.sample, '$.metadata') AS VARCHAR) AS metadata, response.answer, response.reasoning,
    called.tool_calls
FROM item_identities AS item
LEFT JOIN run_overview AS run USING (run_id)
LEFT JOIN samples AS sample ON sample.sample_key = item.content_key
LEFT JOIN responses AS response ON response.run_id = item.answer_run_id AND response.call_no = item.answer_call_no
LEFT JOIN (
    SELECT run_id, call_no, list({name: name, arguments: arguments} ORDER BY position) AS tool_calls
    FROM tool_calls GROUP BY run_id, call_no
) AS called ON called.run_id = item.answer_run_id AND called.call_no = item.answer_call_no
WHERE $run_id IS NULL OR item.run_id = $run_id
ORDER BY item.run_id, item.sample_no, length(item.sample_id), item.sample_id, item.epoch, item.side;  -- 2 before 10
