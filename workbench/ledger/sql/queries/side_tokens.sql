-- The tokens of an answer to each sample by run and model (with its variant), prompt and completion together: the mean over its
-- epochs, of the answers that count. without_usage: such answers that report no usage. Samples without an answer are left out.
-- on_fallback NULL: as each run's job says.
-- Parameters: run_ids (list), on_fallback
SELECT item.run_id, item.side AS model, item.sample_key, avg(item.total_tokens) AS total_tokens,
    count(*) FILTER (item.total_tokens IS NULL) AS without_usage
FROM item_identities AS item
LEFT JOIN run_overview AS run ON run.run_id = item.run_id
WHERE list_contains($run_ids::VARCHAR[], item.run_id) AND item.accepted AND NOT item.invalid
    AND (NOT item.another OR coalesce($on_fallback, run.on_fallback, 'exclude') = 'accept')
GROUP BY item.run_id, item.side, item.sample_key
ORDER BY item.run_id, item.side, item.sample_key;
