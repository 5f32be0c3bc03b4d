-- Everything recorded of how a run began, and of how it ended last (a gate may change its status after its calls ended).
-- Parameters: run_id
SELECT started.run_id, started.job, started.job_path, started.job_toml, started.job_hash, started.tags, started.generation,
    started.occasion, started.planned, started.dataset_paths, started.dataset_hash, started.dataset_rows, started.endpoint,
    started.identity, started.simulated, started.key_fingerprint, started.host, started.pid, started.max_in_flight,
    started.versions, started.limits, started.git_commit, started.git_dirty, started.fresh, started.resumed_run,
    started.narrowed, started.part, started.on_fallback, started.scorers, started.variants, started.reduce, started.epochs,
    started.min_answered, started.counted_unknown,
    started.recorded_at AS started_at,
    ended.recorded_at AS ended_at, ended.status, ended.exit_code, ended.duration_s, ended.reason
FROM (SELECT * FROM runs WHERE run_id = $run_id AND event = 'started') AS started
LEFT JOIN (
    SELECT * FROM runs WHERE run_id = $run_id AND event = 'ended' ORDER BY recorded_at DESC LIMIT 1
) AS ended USING (run_id);
