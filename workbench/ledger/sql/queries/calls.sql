-- Every call that ended, one per row, oldest first: requested and served model, outcome, duration and tokens. tags: as JSON.
-- Parameters: run_id (NULL takes all)
SELECT attempt.run_id, run.job, CAST(to_json(run.tags) AS VARCHAR) AS tags, attempt.call_no, attempt.request_key,
    item.sample_id, attempt.sample_key, attempt.epoch, attempt.model AS requested_model, item.variant,
    attempt.served_model, who.identity, who.evidence AS identity_evidence, attempt.outcome, attempt.accepted, attempt.drew,
    attempt.http_status, attempt.sent_at, attempt.ended_at, attempt.latency_ms, attempt.prompt_tokens,
    attempt.completion_tokens, attempt.reasoning_tokens, attempt.total_tokens, attempt.finish_reason, request.tools, coalesce(called.tool_calls, 0) AS tool_calls,
    attempt.evidence, attempt.error_text, run.simulated
FROM judged_attempts AS attempt
LEFT JOIN (
    SELECT run_id, request_key, any_value(sample_id) AS sample_id, any_value(variant) AS variant FROM run_items
    WHERE $run_id IS NULL OR run_id = $run_id GROUP BY run_id, request_key
) AS item USING (run_id, request_key)
LEFT JOIN call_identities AS who ON who.run_id = attempt.run_id AND who.call_no = attempt.call_no
LEFT JOIN requests AS request ON request.run_id = attempt.run_id AND request.call_no = attempt.call_no
LEFT JOIN (SELECT run_id, call_no, count(*) AS tool_calls FROM tool_calls GROUP BY run_id, call_no) AS called
    ON called.run_id = attempt.run_id AND called.call_no = attempt.call_no
LEFT JOIN run_overview AS run ON run.run_id = attempt.run_id
WHERE $run_id IS NULL OR attempt.run_id = $run_id
ORDER BY attempt.sent_at, attempt.run_id, attempt.call_no;
