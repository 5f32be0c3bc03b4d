-- When a run was first told that the allowance is used up, unless something was answered that was sent after it: then more was
-- granted since.
-- Parameters: none
SELECT attempt.run_id, min(attempt.ended_at) AS refused_at
FROM judged_attempts AS attempt JOIN outcomes USING (outcome)
WHERE outcomes.stops = 'allowance'
GROUP BY attempt.run_id
HAVING coalesce((SELECT max(sent_at) FROM judged_attempts WHERE accepted) <= min(attempt.ended_at), true)
ORDER BY refused_at, attempt.run_id;
