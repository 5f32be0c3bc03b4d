-- Every value of every table, read from the disk.
-- Parameters: none
SELECT 'runs' AS name, bit_xor(hash(held)) AS digest FROM runs AS held
UNION ALL SELECT 'models_seen' AS name, bit_xor(hash(held)) AS digest FROM models_seen AS held
UNION ALL SELECT 'samples' AS name, bit_xor(hash(held)) AS digest FROM samples AS held
UNION ALL SELECT 'request_bodies' AS name, bit_xor(hash(held)) AS digest FROM request_bodies AS held
UNION ALL SELECT 'requests' AS name, bit_xor(hash(held)) AS digest FROM requests AS held
UNION ALL SELECT 'run_items' AS name, bit_xor(hash(held)) AS digest FROM run_items AS held
UNION ALL SELECT 'attempts' AS name, bit_xor(hash(held)) AS digest FROM attempts AS held
UNION ALL SELECT 'responses' AS name, bit_xor(hash(held)) AS digest FROM responses AS held
UNION ALL SELECT 'tool_calls' AS name, bit_xor(hash(held)) AS digest FROM tool_calls AS held
UNION ALL SELECT 'scores' AS name, bit_xor(hash(held)) AS digest FROM scores AS held
UNION ALL SELECT 'reference_scores' AS name, bit_xor(hash(held)) AS digest FROM reference_scores AS held
UNION ALL SELECT 'paces' AS name, bit_xor(hash(held)) AS digest FROM paces AS held
UNION ALL SELECT 'gates' AS name, bit_xor(hash(held)) AS digest FROM gates AS held
UNION ALL SELECT 'invalidations' AS name, bit_xor(hash(held)) AS digest FROM invalidations AS held
UNION ALL SELECT 'target_corrections' AS name, bit_xor(hash(held)) AS digest FROM target_corrections AS held
UNION ALL SELECT 'acceptances' AS name, bit_xor(hash(held)) AS digest FROM acceptances AS held
UNION ALL SELECT 'unsent_samples' AS name, bit_xor(hash(held)) AS digest FROM unsent_samples AS held
UNION ALL SELECT 'served_names' AS name, bit_xor(hash(held)) AS digest FROM served_names AS held
UNION ALL SELECT 'call_quarters' AS name, bit_xor(hash(held)) AS digest FROM call_quarters AS held
UNION ALL SELECT 'corrected_outcomes' AS name, bit_xor(hash(held)) AS digest FROM corrected_outcomes AS held
UNION ALL SELECT 'readings' AS name, bit_xor(hash(held)) AS digest FROM readings AS held;
