-- The samples of a run by id.
-- Parameters: run_id
SELECT DISTINCT sample_id, sample_key FROM run_items WHERE run_id = $run_id ORDER BY sample_id;
