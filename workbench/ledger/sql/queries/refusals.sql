-- When a run was first told that the allowance is used up, unless something was answered that was sent after it: then more was
-- granted since.
-- Parameters: none
SELECT run_id, min(first_ended_at) AS refused_at
FROM judged_quarters JOIN outcomes USING (outcome)
WHERE outcomes.stops = 'allowance'
GROUP BY run_id
HAVING coalesce((SELECT max(last_sent_at) FROM judged_quarters WHERE accepted) <= min(first_ended_at), true)
ORDER BY refused_at, run_id;
