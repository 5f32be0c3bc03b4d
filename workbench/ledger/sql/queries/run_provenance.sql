-- Everything recorded of how a run began and ended.
-- Parameters: run_id
SELECT started.* EXCLUDE (event, recorded_at, status, exit_code, duration_s, reason), started.recorded_at AS started_at,
    ended.recorded_at AS ended_at, ended.status, ended.exit_code, ended.duration_s, ended.reason
FROM (SELECT * FROM runs WHERE run_id = $run_id AND event = 'started') AS started
LEFT JOIN (SELECT * FROM runs WHERE run_id = $run_id AND event = 'ended') AS ended USING (run_id);
