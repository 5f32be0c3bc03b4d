-- How the calls of every requested model ended, over everything recorded.
-- Parameters: none
SELECT model, outcome, bool_and(accepted) AS accepted, sum(calls)::BIGINT AS calls, max(last_sent_at) AS last_at
FROM judged_quarters GROUP BY model, outcome ORDER BY model, calls DESC, outcome;
