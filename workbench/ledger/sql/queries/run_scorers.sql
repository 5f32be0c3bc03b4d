-- The scorers of some runs, with the settings that count, in the order in which a run's first score by each was written.
-- Parameters: run_ids (list)
SELECT run_id, scorer, arg_max(scorer_config, recorded_at) AS scorer_config, count(value) AS scored
FROM latest_scores
WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[]))
GROUP BY run_id, scorer
ORDER BY run_id, scorer;
