-- Scores of a run by model and scorer. mean is over scored answers that count; every other item of the run counts as
-- unscored: cut, empty and failed answers, those that a scorer could not judge, those of samples that were
-- taken out, and those left out as a fallback's (left_out: how many of these are scored).
CREATE OR REPLACE VIEW pass_rates AS
SELECT
    item.run_id,
    concat_ws(' · ', item.model, item.variant) AS model,
    named.scorer,
    count(score.value) FILTER (who.counts) AS scored,
    count(*) - count(score.value) FILTER (who.counts) AS unscored,
    count(score.value) FILTER (NOT who.counts AND NOT who.invalid) AS left_out,
    count(DISTINCT item.sample_key) FILTER (who.invalid) AS invalid_samples,
    avg(score.value) FILTER (who.counts) AS mean,
    bool_and(score.value IN (0, 1)) FILTER (score.value IS NOT NULL AND who.counts) AS is_binary,
    count(DISTINCT item.sample_key) FILTER (score.value IS NOT NULL AND who.counts) AS samples
FROM run_items AS item
JOIN (SELECT DISTINCT run_id, scorer FROM scores) AS named USING (run_id)
JOIN item_identities AS who ON who.run_id = item.run_id AND who.request_key = item.request_key
LEFT JOIN latest_scores AS score
    ON score.run_id = item.run_id AND score.request_key = item.request_key AND score.scorer = named.scorer
GROUP BY item.run_id, concat_ws(' · ', item.model, item.variant), named.scorer;
