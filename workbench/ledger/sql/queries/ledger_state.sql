-- What kinds of data a ledger holds, and whether anything that must be unique is not.
-- Parameters: none
SELECT
    (SELECT count(*) FROM runs WHERE event = 'started') AS runs,
    (SELECT count(*) FROM attempts) AS attempts,
    (SELECT count(*) FROM requests) AS requests,
    (SELECT count(*) FROM scores) AS scores,
    (SELECT count(DISTINCT simulated) FROM runs WHERE event = 'started') AS kinds,
    (SELECT any_value(simulated) FROM runs WHERE event = 'started') AS simulated,
    (SELECT count(*) - count(DISTINCT (run_id, call_no)) FROM attempts) AS repeated_attempts,
    (SELECT count(*) - count(DISTINCT (run_id, call_no)) FROM requests) AS repeated_requests,
    (SELECT count(*) - count(DISTINCT (run_id, request_key)) FROM run_items) AS repeated_items,
    (SELECT count(*) - count(DISTINCT sample_key) FROM samples) AS repeated_samples,
    (SELECT count(*) - count(DISTINCT body_key) FROM request_bodies) AS repeated_bodies,
    (SELECT count(*) FROM attempts ANTI JOIN requests USING (run_id, call_no)) AS attempts_without_request;
