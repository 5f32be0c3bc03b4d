-- The samples of a run by id; whether they are taken out, and when that was last said (NULL: never).
-- Parameters: run_id
SELECT DISTINCT item.sample_id, item.sample_key, coalesce(said.invalid, false) AS invalid, said.said_at
FROM run_items AS item
LEFT JOIN (
    SELECT sample_key, arg_max(invalid, recorded_at) AS invalid, max(recorded_at) AS said_at
    FROM invalidations WHERE run_id = $run_id GROUP BY sample_key
) AS said USING (sample_key)
WHERE item.run_id = $run_id
ORDER BY item.sample_id;
