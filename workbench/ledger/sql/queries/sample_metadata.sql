-- The further columns of what some runs were to ask, as a JSON object: of each sample as the newest of them read it.
-- Parameters: run_ids (list)
WITH planned AS (
    SELECT run_id, sample_key, content_key FROM corrected_items WHERE list_contains($run_ids::VARCHAR[], run_id)
    UNION ALL
    SELECT run_id, sample_key, content_key FROM corrected_unsent WHERE list_contains($run_ids::VARCHAR[], run_id)
)
SELECT read.sample_key, json_extract(sample.sample, '$.metadata') AS metadata
FROM (SELECT sample_key, arg_max(content_key, run_id) AS content_key FROM planned GROUP BY sample_key) AS read
JOIN samples AS sample ON sample.sample_key = read.content_key;
