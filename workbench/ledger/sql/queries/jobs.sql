-- Jobs by their newest run, with how often each ran.
-- Parameters: none
SELECT job, count(*) AS runs, count(*) FILTER (status = 'complete') AS complete, min(started_at) AS first_at,
    max(started_at) AS last_at, arg_max(run_id, row(started_at, run_id)) AS last_run_id,
    arg_max({status: status}, row(started_at, run_id)).status AS last_status
FROM run_overview
GROUP BY job ORDER BY last_at DESC;
