-- What kinds of data a ledger holds, and whether anything that must be unique is not, or contradicts what it belongs to.
-- contradicting_attempts: an attempt differs from its request. reinterpreted_attempts: other things follow from its outcome today
-- than when it was recorded. corrected_attempts: its body is judged to be another outcome today.
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
    (SELECT count(*) FROM attempts ANTI JOIN requests USING (run_id, call_no)) AS attempts_without_request,
    (
        SELECT count(*) FROM attempts AS attempt JOIN requests AS request USING (run_id, call_no)
        WHERE (attempt.request_key, attempt.generation, attempt.model, attempt.sample_key, attempt.epoch)
            <> (request.request_key, request.generation, request.model, request.sample_key, request.epoch)
    ) AS contradicting_attempts,
    (
        SELECT count(*) FROM attempts AS stored JOIN judged_attempts AS judged USING (run_id, call_no)
        WHERE (stored.accepted, stored.rerun, stored.scorable, stored.drew)
            <> (judged.accepted, judged.rerun, judged.scorable, judged.drew)
    ) AS reinterpreted_attempts,
    (SELECT count(*) FROM corrected_outcomes) AS corrected_attempts;
