-- The scores that count for a run, one per request and scorer.
-- Parameters: run_id
SELECT request_key, scorer, scorer_config, recorded_at, value, reason, extracted
FROM latest_scores WHERE run_id = $run_id;
