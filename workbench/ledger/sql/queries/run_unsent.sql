-- The samples of a run of which no model was sent anything, with their content.
-- Parameters: run_id, most
SELECT unsent.sample_id, unsent.recorded_key AS sample_key, unsent.epoch, sample.sample
FROM (SELECT DISTINCT sample_id, recorded_key, content_key, epoch FROM corrected_unsent WHERE run_id = $run_id) AS unsent
LEFT JOIN samples AS sample ON sample.sample_key = unsent.content_key
WHERE NOT EXISTS (
    SELECT 1 FROM run_items AS item
    WHERE item.run_id = $run_id AND item.sample_key = unsent.recorded_key AND item.epoch = unsent.epoch
)
ORDER BY unsent.epoch, unsent.sample_id LIMIT $most;
