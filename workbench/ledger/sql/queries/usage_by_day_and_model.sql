-- Tokens and calls by UTC day and model.
-- Parameters: none
SELECT day, model, sum(calls)::BIGINT AS calls, sum(total_tokens)::BIGINT AS total_tokens,
    sum(calls_without_usage)::BIGINT AS calls_without_usage
FROM usage_by_day
GROUP BY day, model ORDER BY day, model;
