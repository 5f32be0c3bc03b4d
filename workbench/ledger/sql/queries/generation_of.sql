-- The generation and dataset of one run, for going on within it; no row for a run that is not here.
-- Parameters: run_id
SELECT run_id, job, generation, dataset_hash FROM runs WHERE run_id = $run_id AND event = 'started';
