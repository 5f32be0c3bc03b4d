-- The samples of a run of whose targets somebody has said something: by which each is scored now, when that was said and why
-- (is_corrected false: the recorded target counts again).
-- Parameters: run_id
SELECT item.sample_id, corrected.sample_key AS recorded_key, coalesce(corrected.corrected_key, corrected.sample_key) AS sample_key,
    corrected.corrected_key IS NOT NULL AS is_corrected, corrected.reason, corrected.recorded_at
FROM standing_corrections AS corrected
JOIN (
    SELECT sample_key, any_value(sample_id) AS sample_id
    FROM (
        SELECT sample_key, sample_id FROM run_items WHERE run_id = $run_id
        UNION ALL SELECT sample_key, sample_id FROM unsent_samples WHERE run_id = $run_id
    )
    GROUP BY sample_key
) AS item ON item.sample_key = corrected.sample_key
WHERE corrected.run_id = $run_id
ORDER BY item.sample_id, recorded_key;
