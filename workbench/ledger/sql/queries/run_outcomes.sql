-- How a run's own calls ended, by model and outcome.
-- Parameters: run_id
SELECT model, outcome, any_value(accepted) AS accepted, count(*) AS calls
FROM attempts WHERE run_id = $run_id
GROUP BY model, outcome ORDER BY model, calls DESC, outcome;
