-- The newest run of each job beside the one before it, both settled, with the job's first scorer, where it has one.
CREATE OR REPLACE VIEW job_pairs AS
WITH ended AS (
    SELECT job, run_id, scorers[1] AS scorer,
        row_number() OVER (PARTITION BY job ORDER BY started_at DESC, run_id DESC) AS place
    FROM run_overview
    WHERE is_settled
)
SELECT newest.job, newest.run_id, before.run_id AS before_run_id, newest.scorer
FROM ended AS newest JOIN ended AS before ON before.job = newest.job AND before.place = 2
WHERE newest.place = 1 AND newest.scorer IS NOT NULL;
