-- The further columns of some samples, as a JSON object.
-- Parameters: keys (list)
SELECT sample_key, json_extract(sample, '$.metadata') AS metadata
FROM samples WHERE sample_key IN (SELECT unnest($keys::VARCHAR[]));
