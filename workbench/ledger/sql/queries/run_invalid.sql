-- The samples that are taken out of a run's scores.
-- Parameters: run_id
SELECT item.sample_id, taken.reason, taken.recorded_at
FROM (
    SELECT sample_key, arg_max(invalid, recorded_at) AS invalid, arg_max(reason, recorded_at) AS reason,
        max(recorded_at) AS recorded_at
    FROM invalidations WHERE run_id = $run_id GROUP BY sample_key
) AS taken
JOIN (SELECT sample_key, any_value(sample_id) AS sample_id FROM run_items WHERE run_id = $run_id GROUP BY sample_key) AS item
    USING (sample_key)
WHERE taken.invalid
ORDER BY item.sample_id;
