-- The newest runs of a job, the newest first, with what its requests, its dataset and its scorers were, so that changes show; of an
-- occasion one (see `occasion_runs`), with the tokens of all its `runs`. corrected: of how many of its samples the target was
-- corrected after it.
-- Parameters: job, most (how many runs)
WITH newest AS (
    SELECT run_id, started_at, run_ids FROM occasion_runs WHERE job = $job ORDER BY started_at DESC, run_id DESC LIMIT $most
),
used AS (
    SELECT newest.run_id, sum(call.total_tokens)::BIGINT AS total_tokens
    FROM (SELECT run_id, unnest(run_ids) AS paid_run_id FROM newest) AS newest JOIN attempts AS call ON call.run_id = newest.paid_run_id
    GROUP BY newest.run_id
)
SELECT run.run_id, newest.started_at, run.occasion, run.status, run.reason, run.planned, start.dataset_hash, start.job_hash,
    start.job_toml, run.scorers, used.total_tokens, len(newest.run_ids) AS runs, coalesce(said.corrected, 0) AS corrected
FROM newest
JOIN run_overview AS run USING (run_id)
JOIN (SELECT run_id, dataset_hash, job_hash, job_toml FROM runs WHERE event = 'started') AS start USING (run_id)
LEFT JOIN used USING (run_id)
LEFT JOIN (
    SELECT run_id, count(*) AS corrected FROM standing_corrections WHERE corrected_key IS NOT NULL GROUP BY run_id
) AS said USING (run_id)
ORDER BY newest.started_at DESC, run.run_id DESC;
