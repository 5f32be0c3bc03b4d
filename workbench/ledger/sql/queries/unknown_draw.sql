-- Calls whose usage is unknown, by model, and what they may have used: from the calls of the same model that reported
-- their tokens. low_tokens: every answered call without usage drew as little as the smallest tenth, the others nothing.
-- high_tokens: all of them, open ones too, drew as much as the largest tenth. NULL: no call of the model ever reported.
-- Parameters: none
WITH known AS (
    SELECT model, count(*) AS known_calls, quantile_cont(total_tokens, 0.1) AS p10_tokens,
        quantile_cont(total_tokens, 0.9) AS p90_tokens
    FROM attempts WHERE total_tokens IS NOT NULL GROUP BY model
),
unknown AS (
    SELECT model, sum(calls_without_usage)::BIGINT AS calls_without_usage, sum(maybe_drawn)::BIGINT AS maybe_drawn,
        sum(open_intents)::BIGINT AS open_intents
    FROM usage_by_day GROUP BY model
    HAVING sum(calls_without_usage + maybe_drawn + open_intents) > 0
)
SELECT unknown.*, coalesce(known_calls, 0) AS known_calls, p10_tokens, p90_tokens,
    round(calls_without_usage * p10_tokens)::BIGINT AS low_tokens,
    round((calls_without_usage + maybe_drawn + open_intents) * p90_tokens)::BIGINT AS high_tokens
FROM unknown LEFT JOIN known USING (model)
ORDER BY high_tokens DESC NULLS FIRST, model;
