-- Attempts that brought no accepted answer, by run, model, outcome, status and evidence.
CREATE OR REPLACE VIEW errors_by_kind AS
SELECT run_id, model, outcome, http_status, evidence, count(*) AS calls, min(sent_at) AS first_at, max(sent_at) AS last_at
FROM judged_attempts
WHERE NOT accepted
GROUP BY run_id, model, outcome, http_status, evidence;
