-- What our calls used, by day, week (its Monday), month, model or job. Tokens as reported; calls_without_usage and
-- maybe_drawn
-- used an unknown amount, and so may open_intents have.
-- Parameters: by (day | week | month | model | job), since, until (days, both included; NULL: no bound)
SELECT
    CASE $by
        WHEN 'day' THEN CAST(usage.day AS VARCHAR)
        WHEN 'week' THEN CAST(CAST(date_trunc('week', usage.day) AS DATE) AS VARCHAR)
        WHEN 'month' THEN strftime(usage.day, '%Y-%m')
        WHEN 'model' THEN usage.model
        ELSE run.job
    END AS name,
    sum(calls)::BIGINT AS calls, sum(accepted)::BIGINT AS accepted,
    sum(prompt_tokens)::BIGINT AS prompt_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
    sum(reasoning_tokens)::BIGINT AS reasoning_tokens, sum(total_tokens)::BIGINT AS total_tokens,
    sum(calls_without_usage)::BIGINT AS calls_without_usage,
    sum(maybe_drawn)::BIGINT AS maybe_drawn, sum(open_intents)::BIGINT AS open_intents
FROM usage_by_day AS usage
LEFT JOIN run_overview AS run USING (run_id)
WHERE ($since IS NULL OR usage.day >= CAST($since AS DATE)) AND ($until IS NULL OR usage.day <= CAST($until AS DATE))
GROUP BY ALL ORDER BY name;
