-- Tokens of a run's own calls by model, as reported; NULL is unknown.
-- Parameters: run_id
SELECT concat_ws(' · ', attempt.model, item.variant) AS model, count(*) AS calls, sum(prompt_tokens)::BIGINT AS prompt_tokens,
    sum(completion_tokens)::BIGINT AS completion_tokens, sum(reasoning_tokens)::BIGINT AS reasoning_tokens,
    sum(total_tokens)::BIGINT AS total_tokens,
    count(*) FILTER (drew = 'yes' AND total_tokens IS NULL) AS calls_without_usage,
    count(*) FILTER (drew = 'maybe' AND total_tokens IS NULL) AS maybe_drawn
FROM judged_attempts AS attempt LEFT JOIN run_items AS item USING (run_id, request_key)
WHERE run_id = $run_id
GROUP BY ALL ORDER BY model;
