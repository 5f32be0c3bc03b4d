-- The requests of a run whose answers count in no mean: another model's where these do not, and those of samples that were taken out.
-- Parameters: run_id
SELECT request_key FROM item_identities WHERE run_id = $run_id AND NOT counts;
