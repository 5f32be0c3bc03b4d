-- Every request of every probe, the oldest probe first, with what its answer shows of the route. latency in ms.
-- Parameters: none
WITH probe AS (SELECT run_id, started_at FROM probe_runs),
attempt AS (SELECT * FROM judged_attempts WHERE run_id IN (SELECT run_id FROM probe)),
response AS (SELECT run_id, call_no, answer, reasoning FROM responses WHERE run_id IN (SELECT run_id FROM probe)),
called AS (
    SELECT run_id, call_no, count(*) AS calls FROM tool_calls WHERE run_id IN (SELECT run_id FROM probe)
    GROUP BY run_id, call_no
)
SELECT probe.run_id, probe.started_at, item.model, item.variant AS question, attempt.outcome,
    coalesce(attempt.accepted, false) AS accepted, coalesce(attempt.concluded, true) AS concluded, attempt.served_model,
    who.identity, attempt.latency_ms, attempt.completion_tokens, attempt.reasoning_tokens, attempt.total_tokens, attempt.finish_reason, response.answer,
    coalesce(response.reasoning, '') <> '' AS reasoned, coalesce(called.calls, 0) AS tool_calls
FROM probe
JOIN run_items AS item ON item.run_id = probe.run_id
LEFT JOIN attempt ON attempt.run_id = item.answer_run_id AND attempt.call_no = item.answer_call_no
LEFT JOIN response ON response.run_id = item.answer_run_id AND response.call_no = item.answer_call_no
LEFT JOIN called ON called.run_id = item.answer_run_id AND called.call_no = item.answer_call_no
LEFT JOIN served_identities AS who
    ON attempt.accepted AND who.run_id = attempt.run_id AND who.model = attempt.model
    AND who.served_model IS NOT DISTINCT FROM attempt.served_model
ORDER BY probe.started_at, probe.run_id, item.model, item.variant, item.epoch;
