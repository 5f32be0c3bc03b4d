-- What a run's gates decided last, in the order in which they were written.
-- Parameters: run_id
SELECT gate, scorer, model, result, reason, evidence, recorded_at
FROM gates WHERE run_id = $run_id AND recorded_at = (SELECT max(recorded_at) FROM gates WHERE run_id = $run_id)
ORDER BY result = 'met', result = 'cannot tell', gate, scorer, model;
