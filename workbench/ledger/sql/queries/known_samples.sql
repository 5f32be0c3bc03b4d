-- Which of some samples the ledger holds, with the SHA-256 of what it holds of each.
-- Parameters: sample_keys (list)
SELECT sample_key, sha256(sample) AS digest FROM samples WHERE sample_key IN (SELECT unnest($sample_keys::VARCHAR[]));
