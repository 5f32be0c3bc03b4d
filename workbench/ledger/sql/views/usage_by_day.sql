-- What our calls drew, by day, run and model. Days are those of the zone in the variable
-- day_zone, which the workbench sets from [account] time_zone; without it UTC. calls_without_usage drew an unknown amount;
-- maybe_drawn are calls
-- that failed after they may have reached a model; open_intents were sent and never recorded as ended.
CREATE OR REPLACE VIEW usage_by_day AS
SELECT
    CASE
        WHEN getvariable('day_zone') IS NULL THEN CAST(request.sent_at AS DATE)
        ELSE CAST(timezone(CAST(getvariable('day_zone') AS VARCHAR), timezone('UTC', request.sent_at)) AS DATE)
    END AS day,
    request.run_id,
    request.model,
    count(*) AS calls,
    count(*) FILTER (attempt.accepted) AS accepted,
    count(*) FILTER (attempt.drew = 'yes' AND attempt.total_tokens IS NULL) AS calls_without_usage,
    count(*) FILTER (attempt.drew = 'maybe') AS maybe_drawn,
    count(*) FILTER (attempt.outcome IS NULL) AS open_intents,
    sum(attempt.prompt_tokens)::BIGINT AS prompt_tokens,
    sum(attempt.completion_tokens)::BIGINT AS completion_tokens,
    sum(attempt.reasoning_tokens)::BIGINT AS reasoning_tokens,
    sum(attempt.total_tokens)::BIGINT AS total_tokens
FROM requests AS request
LEFT JOIN judged_attempts AS attempt USING (run_id, call_no)
GROUP BY ALL;
