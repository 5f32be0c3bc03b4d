-- The samples that some runs were to ask and did not send to any model, as they ended; by what each is scored.
-- Parameters: run_ids (list)
SELECT DISTINCT unsent.run_id, coalesce(corrected.corrected_key, unsent.sample_key) AS sample_key, unsent.sample_id
FROM unsent_samples AS unsent
LEFT JOIN standing_corrections AS corrected ON corrected.run_id = unsent.run_id AND corrected.sample_key = unsent.sample_key
WHERE list_contains($run_ids::VARCHAR[], unsent.run_id)
ORDER BY unsent.run_id, sample_key, unsent.sample_id;
