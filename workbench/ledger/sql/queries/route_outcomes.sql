-- How the calls of every requested model ended, over everything recorded.
-- Parameters: none
SELECT model, outcome, bool_and(accepted) AS accepted, count(*) AS calls, max(sent_at) AS last_at
FROM judged_attempts GROUP BY model, outcome ORDER BY model, calls DESC, outcome;
