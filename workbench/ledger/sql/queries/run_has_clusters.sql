-- Whether a sample of a run belongs to a cluster (see `cluster_of`).
-- Parameters: run_id
SELECT coalesce(bool_or(item.cluster IS NOT NULL OR json_extract_string(sample.sample, '/metadata/cluster') IS NOT NULL), false)
    AS clustered
FROM (SELECT DISTINCT coalesce(content_key, sample_key) AS content_key, cluster FROM run_items WHERE run_id = $run_id) AS item
LEFT JOIN samples AS sample ON sample.sample_key = item.content_key;
