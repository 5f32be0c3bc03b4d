-- What our calls drew, by day, model or job. Tokens as reported; calls_without_usage and maybe_drawn drew an unknown
-- amount, and so may open_intents have.
-- Parameters: by (day | model | job)
SELECT CASE $by WHEN 'day' THEN CAST(usage.day AS VARCHAR) WHEN 'model' THEN usage.model ELSE run.job END AS name,
    sum(calls)::BIGINT AS calls, sum(accepted)::BIGINT AS accepted,
    sum(prompt_tokens)::BIGINT AS prompt_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
    sum(total_tokens)::BIGINT AS total_tokens, sum(calls_without_usage)::BIGINT AS calls_without_usage,
    sum(maybe_drawn)::BIGINT AS maybe_drawn, sum(open_intents)::BIGINT AS open_intents
FROM usage_by_day AS usage
LEFT JOIN run_overview AS run USING (run_id)
GROUP BY ALL ORDER BY name;
