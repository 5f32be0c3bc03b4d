-- What our calls used, by tag; a run with several tags counts under each of them.
-- Parameters: since, until (days, both included; NULL: no bound)
SELECT tag.key || ' = ' || tag.value AS name, sum(calls)::BIGINT AS calls, sum(accepted)::BIGINT AS accepted,
    sum(prompt_tokens)::BIGINT AS prompt_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
    sum(reasoning_tokens)::BIGINT AS reasoning_tokens, sum(total_tokens)::BIGINT AS total_tokens,
    sum(calls_without_usage)::BIGINT AS calls_without_usage,
    sum(maybe_drawn)::BIGINT AS maybe_drawn, sum(open_intents)::BIGINT AS open_intents
FROM usage_by_day AS usage
JOIN (SELECT run_id, unnest(map_entries(tags)) AS tag FROM run_overview) AS run USING (run_id)
WHERE ($since IS NULL OR usage.day >= CAST($since AS DATE)) AND ($until IS NULL OR usage.day <= CAST($until AS DATE))
GROUP BY ALL ORDER BY name;
