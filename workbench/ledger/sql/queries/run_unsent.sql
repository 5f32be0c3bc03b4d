-- The samples of a run of which no model was sent anything, with their content.
-- Parameters: run_id, most
SELECT unsent.sample_id, unsent.sample_key, unsent.epoch, sample.sample
FROM (SELECT DISTINCT sample_id, sample_key, coalesce(content_key, sample_key) AS content_key, epoch FROM unsent_samples WHERE run_id = $run_id) AS unsent
LEFT JOIN standing_corrections AS corrected ON corrected.run_id = $run_id AND corrected.sample_key = unsent.sample_key
LEFT JOIN samples AS sample ON sample.sample_key = coalesce(corrected.corrected_key, unsent.content_key)
WHERE NOT EXISTS (
    SELECT 1 FROM run_items AS item
    WHERE item.run_id = $run_id AND item.sample_key = unsent.sample_key AND item.epoch = unsent.epoch
)
ORDER BY unsent.epoch, unsent.sample_id LIMIT $most;
