-- Which of some samples the ledger holds.
-- Parameters: sample_keys (list)
SELECT sample_key FROM samples WHERE sample_key IN (SELECT unnest($sample_keys::VARCHAR[]));
