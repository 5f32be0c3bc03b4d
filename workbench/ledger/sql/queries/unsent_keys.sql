-- The samples that some runs were to ask and did not send to any model, as they ended; by what each is scored.
-- Parameters: run_ids (list)
SELECT DISTINCT run_id, sample_key, sample_id FROM corrected_unsent WHERE list_contains($run_ids::VARCHAR[], run_id)
ORDER BY run_id, sample_key, sample_id;
