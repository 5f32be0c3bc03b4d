-- The samples of the runs of a job, as each run recorded it (recorded_key) and as it is scored (sample_key), the newest runs first.
-- said_at: when somebody last said something of its target (NULL: never).
-- Parameters: job (NULL: of all jobs), run_id (NULL: all of their runs)
WITH run AS (SELECT run_id, started_at FROM run_overview WHERE ($job IS NULL OR job = $job) AND ($run_id IS NULL OR run_id = $run_id)),
held AS (
    SELECT run_id, sample_key, any_value(sample_id) AS sample_id
    FROM (
        SELECT run_id, sample_key, sample_id FROM run_items
        UNION ALL SELECT run_id, sample_key, sample_id FROM unsent_samples
    )
    WHERE run_id IN (SELECT run_id FROM run)
    GROUP BY run_id, sample_key
)
SELECT held.run_id, held.sample_id, held.sample_key AS recorded_key, coalesce(corrected.corrected_key, held.sample_key) AS sample_key,
    corrected.recorded_at AS said_at
FROM held
JOIN run ON run.run_id = held.run_id
LEFT JOIN standing_corrections AS corrected ON corrected.run_id = held.run_id AND corrected.sample_key = held.sample_key
ORDER BY run.started_at DESC, held.run_id, length(held.sample_id), held.sample_id, recorded_key;
