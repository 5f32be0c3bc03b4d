-- What scores without a model on the samples of some runs, as it was recorded last, in the order of each run's job.
-- Parameters: run_ids (list)
SELECT held.run_id, held.recorded_at, held.scorer, held.reference, held.column_name, held.constant, held.sample_keys, held.sample_values
FROM reference_scores AS held
LEFT JOIN run_overview AS run ON run.run_id = held.run_id
WHERE list_contains($run_ids::VARCHAR[], held.run_id)
QUALIFY held.recorded_at = max(held.recorded_at) OVER (PARTITION BY held.run_id, held.scorer)
ORDER BY held.run_id, list_position(run.scorers, held.scorer) NULLS LAST, held.scorer,
    list_position(['constant', 'majority', 'random', 'column', 'people'], held.reference), held.column_name;
