-- The score that counts for each run, request and scorer: the newest.
CREATE OR REPLACE VIEW latest_scores AS
SELECT run_id, request_key, scorer, arg_max(scorer_config, recorded_at) AS scorer_config, max(recorded_at) AS recorded_at,
    arg_max({value: value}, recorded_at).value AS value, arg_max(reason, recorded_at) AS reason,
    arg_max({extracted: extracted}, recorded_at).extracted AS extracted
FROM scores
GROUP BY run_id, request_key, scorer;
