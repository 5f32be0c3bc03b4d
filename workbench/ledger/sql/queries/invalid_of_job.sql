-- The samples that are taken out of the newest run of a job that has any, but for those that a run has asked again since.
-- Parameters: job
WITH newest AS (
    SELECT arg_max(run.run_id, run.started_at) AS run_id
    FROM run_overview AS run
    WHERE run.job = $job AND run.run_id IN (SELECT run_id FROM invalidations)
),
taken AS (
    SELECT sample_key, max(recorded_at) AS taken_at
    FROM invalidations
    WHERE run_id = (SELECT run_id FROM newest)
    GROUP BY sample_key
    HAVING arg_max(invalid, recorded_at)
)
SELECT sample_key
FROM taken
WHERE NOT EXISTS (
    SELECT 1 FROM run_items AS item JOIN run_overview AS run ON run.run_id = item.run_id
    WHERE run.job = $job AND item.sample_key = taken.sample_key AND NOT item.reused AND run.started_at > taken.taken_at
)
ORDER BY sample_key;
