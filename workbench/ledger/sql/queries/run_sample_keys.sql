-- The samples of a run by id; whether they are taken out, and when that was last said (NULL: never). scored_key: of that by which its
-- answers are scored; content_key: see `corrected_items`.
-- Parameters: run_id
SELECT DISTINCT item.sample_id, item.recorded_key AS sample_key, item.sample_key AS scored_key, item.content_key,
    coalesce(said.invalid, false) AS invalid, said.said_at
FROM corrected_items AS item
LEFT JOIN (
    SELECT sample_key, arg_max(invalid, recorded_at) AS invalid, max(recorded_at) AS said_at
    FROM invalidations WHERE run_id = $run_id GROUP BY sample_key
) AS said ON said.sample_key = item.recorded_key
WHERE item.run_id = $run_id
ORDER BY item.sample_id;
