-- What our calls drew, by day, run and model. Days are those of the zone in the variable
-- day_zone, which the workbench sets from [account] time_zone; without it UTC. calls_without_usage drew an unknown amount;
-- maybe_drawn are calls that failed after they may have reached a model, and reported nothing; open_intents were sent and never
-- recorded as ended.
CREATE OR REPLACE VIEW usage_by_day AS
SELECT
    CASE
        WHEN getvariable('day_zone') IS NULL THEN CAST(sent_at AS DATE)
        ELSE CAST(timezone(CAST(getvariable('day_zone') AS VARCHAR), timezone('UTC', sent_at)) AS DATE)
    END AS day,
    run_id,
    model,
    count(*) AS calls,
    count(*) FILTER (accepted) AS accepted,
    count(*) FILTER (drew = 'yes' AND total_tokens IS NULL) AS calls_without_usage,
    count(*) FILTER (drew = 'maybe' AND total_tokens IS NULL) AS maybe_drawn,
    count(*) FILTER (outcome IS NULL) AS open_intents,
    sum(prompt_tokens)::BIGINT AS prompt_tokens,
    sum(completion_tokens)::BIGINT AS completion_tokens,
    sum(reasoning_tokens)::BIGINT AS reasoning_tokens,
    sum(total_tokens)::BIGINT AS total_tokens
FROM every_call
GROUP BY ALL;
