-- What the answers of each sample took by run and model (with its variant), those that count, empty ones and those asked for before
-- them in their run among them: tokens, summed over its epochs. without_usage: such that report no usage, without_parts: none of
-- prompt and completion apart. sent_at: of the first. Samples without an answer are left out. on_fallback NULL: as each run's job says.
-- Parameters: run_ids (list), on_fallback
WITH took AS (
    SELECT run_id, request_key, sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens,
        sum(reasoning_tokens) AS reasoning_tokens, sum(total_tokens) AS total_tokens, count(*) FILTER (total_tokens IS NULL) AS without_usage,
        count(*) FILTER (prompt_tokens IS NULL OR completion_tokens IS NULL) AS without_parts
    FROM judged_attempts
    WHERE drew = 'yes' AND run_id IN (SELECT answer_run_id FROM run_items WHERE list_contains($run_ids::VARCHAR[], run_id))
    GROUP BY run_id, request_key
)
SELECT item.run_id, item.side AS model, any_value(item.model) AS requested_model, item.sample_key, count(*) AS answers,
    min(item.sent_at) AS sent_at, sum(took.prompt_tokens)::BIGINT AS prompt_tokens,
    sum(took.completion_tokens)::BIGINT AS completion_tokens, sum(took.reasoning_tokens)::BIGINT AS reasoning_tokens,
    sum(took.total_tokens)::BIGINT AS total_tokens, sum(coalesce(took.without_usage, 1))::BIGINT AS without_usage,
    sum(coalesce(took.without_parts, 1))::BIGINT AS without_parts
FROM item_identities AS item
LEFT JOIN run_overview AS run ON run.run_id = item.run_id
LEFT JOIN took ON took.run_id = item.answer_run_id AND took.request_key = item.request_key
WHERE list_contains($run_ids::VARCHAR[], item.run_id) AND (item.accepted OR (item.ends <> '' AND item.drew = 'yes')) AND NOT item.invalid
    AND (NOT item.another OR coalesce($on_fallback, run.on_fallback, 'exclude') = 'accept')
GROUP BY item.run_id, item.side, item.sample_key
ORDER BY item.run_id, item.side, item.sample_key;
