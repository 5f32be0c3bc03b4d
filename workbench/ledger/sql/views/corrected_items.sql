-- The items of runs with the sample that each is scored by; recorded_key is that with which it was asked, and content_key that of
-- `samples` for what the run read of it.
CREATE OR REPLACE VIEW corrected_items AS
SELECT item.* REPLACE (
    coalesce(corrected.corrected_key, item.sample_key) AS sample_key,
    coalesce(corrected.corrected_key, item.content_key, item.sample_key) AS content_key
), item.sample_key AS recorded_key
FROM run_items AS item
LEFT JOIN standing_corrections AS corrected ON corrected.run_id = item.run_id AND corrected.sample_key = item.sample_key;
