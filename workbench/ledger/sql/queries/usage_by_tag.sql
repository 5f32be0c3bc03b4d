-- What our calls drew, by tag; a run with several tags counts under each of them.
-- Parameters: none
SELECT tag.key || ' = ' || tag.value AS name, sum(calls)::BIGINT AS calls, sum(accepted)::BIGINT AS accepted,
    sum(prompt_tokens)::BIGINT AS prompt_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
    sum(total_tokens)::BIGINT AS total_tokens, sum(calls_without_usage)::BIGINT AS calls_without_usage,
    sum(maybe_drawn)::BIGINT AS maybe_drawn, sum(open_intents)::BIGINT AS open_intents
FROM usage_by_day AS usage
JOIN (SELECT run_id, unnest(map_entries(tags)) AS tag FROM run_overview) AS run USING (run_id)
GROUP BY ALL ORDER BY name;
