-- The newest runs of a job, the newest first, with what its requests, its dataset and its scorers were, so that changes show.
-- corrected: of how many of its samples the target was corrected after it.
-- Parameters: job, most (how many runs)
SELECT run.run_id, run.started_at, run.occasion, run.status, run.reason, run.planned, start.dataset_hash, start.job_hash,
    start.job_toml, run.scorers, used.total_tokens, coalesce(said.corrected, 0) AS corrected
FROM run_overview AS run
JOIN (SELECT run_id, dataset_hash, job_hash, job_toml FROM runs WHERE event = 'started') AS start USING (run_id)
LEFT JOIN (SELECT run_id, sum(total_tokens)::BIGINT AS total_tokens FROM attempts GROUP BY run_id) AS used USING (run_id)
LEFT JOIN (
    SELECT run_id, count(*) AS corrected FROM standing_corrections WHERE corrected_key IS NOT NULL GROUP BY run_id
) AS said USING (run_id)
WHERE run.job = $job
ORDER BY run.started_at DESC, run.run_id DESC LIMIT $most;
