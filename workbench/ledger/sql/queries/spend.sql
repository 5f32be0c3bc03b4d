-- What our calls used in total. Tokens as reported. Unknown are calls_without_usage (answered, nothing reported),
-- maybe_drawn (failed after they may have reached a model) and open_intents (sent, never recorded as ended).
-- Parameters: none
SELECT coalesce(sum(calls), 0)::BIGINT AS calls, coalesce(sum(accepted), 0)::BIGINT AS accepted,
    sum(prompt_tokens)::BIGINT AS prompt_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
    sum(reasoning_tokens)::BIGINT AS reasoning_tokens, sum(total_tokens)::BIGINT AS total_tokens,
    coalesce(sum(calls_without_usage), 0)::BIGINT AS calls_without_usage,
    coalesce(sum(maybe_drawn), 0)::BIGINT AS maybe_drawn, coalesce(sum(open_intents), 0)::BIGINT AS open_intents,
    count(DISTINCT day) AS days
FROM usage_by_day;
