-- The samples that some runs were to ask and did not send to any model, as they ended.
-- Parameters: run_ids (list)
SELECT DISTINCT run_id, sample_key, sample_id FROM unsent_samples WHERE list_contains($run_ids::VARCHAR[], run_id)
ORDER BY run_id, sample_key, sample_id;
