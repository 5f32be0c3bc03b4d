-- What kinds of data a ledger holds, and whether anything that must be unique is not, or contradicts what it belongs to.
-- contradicting_attempts: an attempt differs from its request. contradicting_sums: what is summed up by quarter of an hour is not what
-- its attempts say, or the other way round. reinterpreted_attempts: other things follow from its outcome today than when it was recorded.
-- corrected_attempts: its body is judged to be another outcome today.
-- Parameters: none
WITH summed AS (
    SELECT run_id, model, served_model, outcome, accepted, drew, concluded, reports, reports_reasoning, quarter_at, sum(calls)::BIGINT,
        min(first_sent_at), max(last_sent_at), min(first_ended_at), max(last_ended_at), sum(prompt_tokens)::BIGINT,
        sum(completion_tokens)::BIGINT, sum(reasoning_tokens)::BIGINT, sum(answer_tokens)::BIGINT, sum(total_tokens)::BIGINT
    FROM judged_quarters GROUP BY ALL
),
counted AS (FROM attempt_quarters((SELECT list(DISTINCT run_id) FROM attempts)))
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
    (SELECT count(*) FROM (FROM summed EXCEPT FROM counted)) + (SELECT count(*) FROM (FROM counted EXCEPT FROM summed)) AS contradicting_sums,
    (
        SELECT count(*) FROM attempts AS stored JOIN judged_attempts AS judged USING (run_id, call_no)
        WHERE (stored.accepted, stored.rerun, stored.scorable, stored.drew)
            <> (judged.accepted, judged.rerun, judged.scorable, judged.drew)
    ) AS reinterpreted_attempts,
    (SELECT count(*) FROM corrected_outcomes) AS corrected_attempts;
