-- Whether a sample of a run belongs to a cluster (see `cluster_of`).
-- Parameters: run_id
SELECT coalesce(bool_or(item.cluster IS NOT NULL OR json_extract_string(sample.sample, '/metadata/cluster') IS NOT NULL), false)
    AS clustered
FROM (SELECT any_value(sample_key) AS sample_key, any_value(cluster) AS cluster FROM run_items WHERE run_id = $run_id) AS item
LEFT JOIN samples AS sample ON sample.sample_key = item.sample_key;
