-- The scorers of some runs, with the settings that count, in the order of each run's job.
-- Parameters: run_ids (list)
SELECT run_id, scorer, arg_max(scorer_config, recorded_at) AS scorer_config, count(value) AS scored
FROM (
    SELECT run_id, scorer, request_key, arg_max(scorer_config, recorded_at) AS scorer_config, max(recorded_at) AS recorded_at,
        arg_max({value: value}, recorded_at).value AS value
    FROM scores WHERE list_contains($run_ids::VARCHAR[], run_id)
    GROUP BY run_id, scorer, request_key
) JOIN run_overview AS run USING (run_id)
GROUP BY run_id, scorer
ORDER BY run_id, list_position(any_value(run.scorers), scorer) NULLS LAST, scorer;
