INSERT INTO samples BY NAME
SELECT sample_key, any_value(sample) AS sample FROM staged
WHERE kind = 'sample' AND sample_key NOT IN (SELECT sample_key FROM samples)
GROUP BY sample_key;
