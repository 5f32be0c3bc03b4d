-- All attempts of a run at some requests, in their order.
-- Parameters: run_id, request_keys (list)
SELECT request_key, call_no, outcome, scorable, http_status, latency_ms, sent_at, evidence, error_text
FROM judged_attempts
WHERE run_id = $run_id AND request_key IN (SELECT unnest($request_keys::VARCHAR[]))
ORDER BY request_key, call_no;
