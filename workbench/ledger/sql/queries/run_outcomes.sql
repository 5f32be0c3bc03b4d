-- How a run's own calls ended, by model and outcome.
-- Parameters: run_id
SELECT concat_ws(' · ', attempt.model, item.variant) AS model, outcome, any_value(accepted) AS accepted, count(*) AS calls
FROM judged_attempts AS attempt LEFT JOIN run_items AS item USING (run_id, request_key)
WHERE run_id = $run_id
GROUP BY ALL ORDER BY model, calls DESC, outcome;
