-- What was accepted of a job, and taken back, in the order in which it was said.
-- Parameters: job
SELECT recorded_at, accepted, reason, model
FROM acceptances
WHERE job = $job
ORDER BY recorded_at;
