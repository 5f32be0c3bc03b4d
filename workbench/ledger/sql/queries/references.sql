-- What scores without a model, one row per run, scorer, reference point and sample; see `recorded_references`.
-- Parameters: run_id (NULL takes all)
WITH newest AS (
    SELECT * FROM reference_scores WHERE $run_id IS NULL OR run_id = $run_id
    QUALIFY recorded_at = max(recorded_at) OVER (PARTITION BY run_id, scorer)
)
SELECT run_id, scorer, reference, column_name, constant, unnest(sample_keys) AS sample_key, unnest(sample_values) AS value
FROM newest ORDER BY run_id, scorer, reference, column_name;
