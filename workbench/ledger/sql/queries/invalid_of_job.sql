-- The samples that are taken out of the newest run of a job that has any, unless they were asked again since.
-- Parameters: job
WITH newest AS (
    SELECT arg_max(run.run_id, run.started_at) AS run_id
    FROM run_overview AS run
    WHERE run.job = $job AND run.run_id IN (SELECT run_id FROM invalidations)
)
SELECT sample_key
FROM invalidations
WHERE run_id = (SELECT run_id FROM newest)
GROUP BY sample_key
HAVING arg_max(invalid, recorded_at)
ORDER BY sample_key;
