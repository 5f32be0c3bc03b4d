-- One row a run: how it began and how it ended; ended_at NULL is a run that still goes on or was killed.
CREATE OR REPLACE VIEW run_overview AS
SELECT
    run_id,
    min(recorded_at) FILTER (event = 'started') AS started_at,
    max(recorded_at) FILTER (event = 'ended') AS ended_at,
    any_value(job) AS job,
    any_value(job_path) AS job_path,
    any_value(generation) AS generation,
    any_value(occasion) AS occasion,
    any_value(endpoint) AS endpoint,
    any_value(narrowed) AS narrowed,
    any_value(planned) AS planned,
    any_value(simulated) AS simulated,
    any_value(identity) AS identity,
    any_value(tags) AS tags,
    any_value(scorers) AS scorers,
    any_value(on_fallback) AS on_fallback,
    any_value(reduce) AS reduce,
    any_value(epochs) AS epochs,
    any_value(min_answered) AS min_answered,
    any_value(counted_unknown) AS counted_unknown,
    arg_max(status, recorded_at) FILTER (event = 'ended') AS status,
    coalesce(arg_max(status, recorded_at) FILTER (event = 'ended') IN ('complete', 'gate_failed'), false) AS is_settled,
    arg_max(exit_code, recorded_at) FILTER (event = 'ended') AS exit_code,
    arg_max(duration_s, recorded_at) FILTER (event = 'ended') AS duration_s,
    arg_max(reason, recorded_at) FILTER (event = 'ended') AS reason
FROM runs
GROUP BY run_id;
