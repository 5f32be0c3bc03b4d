-- The samples that runs sent to no model, by what each would be scored by: as `corrected_items` has those that were sent.
CREATE OR REPLACE VIEW corrected_unsent AS
SELECT unsent.* REPLACE (
    coalesce(corrected.corrected_key, unsent.sample_key) AS sample_key,
    coalesce(corrected.corrected_key, unsent.content_key, unsent.sample_key) AS content_key
), unsent.sample_key AS recorded_key
FROM unsent_samples AS unsent
LEFT JOIN standing_corrections AS corrected ON corrected.run_id = unsent.run_id AND corrected.sample_key = unsent.sample_key;
