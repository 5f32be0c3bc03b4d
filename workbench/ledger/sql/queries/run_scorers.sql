-- The scorers of some runs, with the settings that count, in the order of each run's job.
-- Parameters: run_ids (list)
SELECT run_id, scorer, arg_max(scorer_config, recorded_at) AS scorer_config, count(value) AS scored
FROM latest_scores JOIN run_overview AS run USING (run_id)
WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[]))
GROUP BY run_id, scorer
ORDER BY run_id, list_position(any_value(run.scorers), scorer) NULLS LAST, scorer;
