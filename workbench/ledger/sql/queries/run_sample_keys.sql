-- The samples of a run by id, and when they were last taken out or put back (NULL: never).
-- Parameters: run_id
SELECT DISTINCT item.sample_id, item.sample_key, said.said_at
FROM run_items AS item
LEFT JOIN (
    SELECT sample_key, max(recorded_at) AS said_at FROM invalidations WHERE run_id = $run_id GROUP BY sample_key
) AS said USING (sample_key)
WHERE item.run_id = $run_id
ORDER BY item.sample_id;
