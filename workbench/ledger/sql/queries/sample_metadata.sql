-- The further columns of what some runs were to ask, as a JSON object: of each sample as the newest of them read it.
-- Parameters: run_ids (list)
WITH planned AS (
    SELECT run_id, sample_key, content_key FROM corrected_items WHERE list_contains($run_ids::VARCHAR[], run_id)
    UNION ALL
    SELECT unsent.run_id, coalesce(corrected.corrected_key, unsent.sample_key) AS sample_key,
        coalesce(corrected.corrected_key, unsent.content_key, unsent.sample_key) AS content_key
    FROM unsent_samples AS unsent
    LEFT JOIN standing_corrections AS corrected
        ON corrected.run_id = unsent.run_id AND corrected.sample_key = unsent.sample_key
    WHERE list_contains($run_ids::VARCHAR[], unsent.run_id)
)
SELECT read.sample_key, json_extract(sample.sample, '$.metadata') AS metadata
FROM (SELECT sample_key, arg_max(content_key, run_id) AS content_key FROM planned GROUP BY sample_key) AS read
JOIN samples AS sample ON sample.sample_key = read.content_key;
