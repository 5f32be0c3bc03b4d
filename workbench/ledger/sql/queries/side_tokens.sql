-- What the answers of each sample took by run and model (with its variant), those that count, empty ones among them: tokens, summed
-- over its epochs. without_usage: such answers that report no usage, without_parts: none of prompt and completion apart. sent_at: of
-- the first. Samples without an answer are left out. on_fallback NULL: as each run's job says.
-- Parameters: run_ids (list), on_fallback
SELECT item.run_id, item.side AS model, any_value(item.model) AS requested_model, item.sample_key, count(*) AS answers,
    min(item.sent_at) AS sent_at, sum(item.prompt_tokens)::BIGINT AS prompt_tokens,
    sum(item.completion_tokens)::BIGINT AS completion_tokens, sum(item.reasoning_tokens)::BIGINT AS reasoning_tokens,
    sum(item.total_tokens)::BIGINT AS total_tokens, count(*) FILTER (item.total_tokens IS NULL) AS without_usage,
    count(*) FILTER (item.prompt_tokens IS NULL OR item.completion_tokens IS NULL) AS without_parts
FROM item_identities AS item
LEFT JOIN run_overview AS run ON run.run_id = item.run_id
WHERE list_contains($run_ids::VARCHAR[], item.run_id) AND (item.accepted OR (item.ends <> '' AND item.drew = 'yes')) AND NOT item.invalid
    AND (NOT item.another OR coalesce($on_fallback, run.on_fallback, 'exclude') = 'accept')
GROUP BY item.run_id, item.side, item.sample_key
ORDER BY item.run_id, item.side, item.sample_key;
