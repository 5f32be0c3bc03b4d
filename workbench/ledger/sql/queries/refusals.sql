-- When a run was first told that the allowance is used up.
-- Parameters: none
SELECT attempt.run_id, min(attempt.ended_at) AS refused_at
FROM judged_attempts AS attempt JOIN outcomes USING (outcome)
WHERE outcomes.stops = 'allowance'
GROUP BY attempt.run_id
ORDER BY refused_at, attempt.run_id;
