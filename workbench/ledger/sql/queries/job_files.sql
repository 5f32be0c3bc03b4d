-- The job file of every run, verbatim.
-- Parameters: none
SELECT run_id, job_toml FROM runs WHERE event = 'started';
