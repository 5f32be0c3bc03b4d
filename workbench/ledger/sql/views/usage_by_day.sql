-- What our calls drew, by day, run and model. Days are those of the zone in the variable
-- day_zone, which the workbench sets from [account] time_zone; without it UTC. calls_without_usage drew an unknown amount;
-- maybe_drawn are calls that failed after they may have reached a model, and reported nothing; open_intents were sent and never
-- recorded as ended.
CREATE OR REPLACE VIEW usage_by_day AS
SELECT
    CASE
        WHEN getvariable('day_zone') IS NULL THEN CAST(quarter_at AS DATE)
        ELSE CAST(timezone(CAST(getvariable('day_zone') AS VARCHAR), timezone('UTC', quarter_at)) AS DATE)
    END AS day,
    run_id,
    model,
    sum(calls)::BIGINT AS calls,
    coalesce(sum(calls) FILTER (accepted), 0)::BIGINT AS accepted,
    coalesce(sum(calls) FILTER (drew = 'yes' AND reports = 'nothing'), 0)::BIGINT AS calls_without_usage,
    coalesce(sum(calls) FILTER (drew = 'maybe' AND reports = 'nothing'), 0)::BIGINT AS maybe_drawn,
    coalesce(sum(calls) FILTER (outcome IS NULL), 0)::BIGINT AS open_intents,
    sum(prompt_tokens)::BIGINT AS prompt_tokens,
    sum(completion_tokens)::BIGINT AS completion_tokens,
    sum(reasoning_tokens)::BIGINT AS reasoning_tokens,
    sum(total_tokens)::BIGINT AS total_tokens
FROM (
    SELECT run_id, model, quarter_at, outcome, accepted, drew, reports, calls, prompt_tokens, completion_tokens, reasoning_tokens,
        total_tokens
    FROM judged_quarters
    UNION ALL BY NAME
    SELECT run_id, model, sent_at AS quarter_at, 1 AS calls FROM open_calls
)
GROUP BY ALL;
