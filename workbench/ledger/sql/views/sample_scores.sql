-- The same, by the rule of each run's own job.
CREATE OR REPLACE MACRO sample_scores(run_ids) AS TABLE FROM sample_scores_by(run_ids, '');
