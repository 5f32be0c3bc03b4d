-- Whether a sample of a run has the metadata column `cluster`.
-- Parameters: run_id
SELECT coalesce(bool_or(json_extract_string(sample, '/metadata/cluster') IS NOT NULL), false) AS clustered
FROM samples WHERE sample_key = (SELECT any_value(sample_key) FROM run_items WHERE run_id = $run_id);
