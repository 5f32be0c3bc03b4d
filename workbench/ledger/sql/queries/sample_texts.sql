-- The content of some samples, as JSON.
-- Parameters: keys (list)
SELECT sample_key, sample FROM samples WHERE sample_key IN (SELECT unnest($keys::VARCHAR[]));
