-- What scores without a model on the samples of some runs, as it was recorded last, in the order of each run's job. least and most:
-- of the scale of its scorer (NULL: nothing says so).
-- Parameters: run_ids (list)
WITH newest AS (
    SELECT * FROM reference_scores WHERE list_contains($run_ids::VARCHAR[], run_id)
    QUALIFY recorded_at = max(recorded_at) OVER (PARTITION BY run_id, scorer)
),
scale AS (
    SELECT run_id, scorer, scale_of(arg_max(scorer_config, recorded_at)) AS ends
    FROM scores WHERE list_contains($run_ids::VARCHAR[], run_id) GROUP BY run_id, scorer
)
SELECT held.run_id, held.recorded_at, held.scorer, held.reference, held.column_name, held.constant, held.sample_keys, held.sample_values,
    held.sample_texts, scale.ends[1] AS least, scale.ends[2] AS most
FROM newest AS held
LEFT JOIN scale ON scale.run_id = held.run_id AND scale.scorer = held.scorer
LEFT JOIN run_overview AS run ON run.run_id = held.run_id
ORDER BY held.run_id, list_position(run.scorers, held.scorer) NULLS LAST, held.scorer,
    list_position(['constant', 'majority', 'random', 'column', 'people'], held.reference), held.column_name;
