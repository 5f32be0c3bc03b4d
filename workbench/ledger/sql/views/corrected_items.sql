-- The items of runs with the sample that each is scored by; recorded_key is that with which it was asked, and content_key that of
-- `samples` for what the run read of it. side: the model, and its variant where the job has some: what is compared.
CREATE OR REPLACE VIEW corrected_items AS
SELECT item.* REPLACE (
    coalesce(corrected.corrected_key, item.sample_key) AS sample_key,
    coalesce(corrected.corrected_key, item.content_key, item.sample_key) AS content_key
), item.sample_key AS recorded_key, concat_ws(' · ', item.model, item.variant) AS side
FROM run_items AS item
LEFT JOIN standing_corrections AS corrected ON corrected.run_id = item.run_id AND corrected.sample_key = item.sample_key;
