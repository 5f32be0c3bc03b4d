-- Scores of a run by model and scorer. mean is over scored answers only; every other item of the run counts as
-- unscored: cut, empty and failed answers, and those that a scorer could not judge.
CREATE OR REPLACE VIEW pass_rates AS
SELECT
    item.run_id,
    item.model,
    named.scorer,
    count(score.value) AS scored,
    count(*) - count(score.value) AS unscored,
    avg(score.value) AS mean,
    bool_and(score.value IN (0, 1)) FILTER (score.value IS NOT NULL) AS is_binary,
    count(DISTINCT item.sample_key) FILTER (score.value IS NOT NULL) AS samples
FROM run_items AS item
JOIN (SELECT DISTINCT run_id, scorer FROM scores) AS named USING (run_id)
LEFT JOIN latest_scores AS score
    ON score.run_id = item.run_id AND score.request_key = item.request_key AND score.scorer = named.scorer
GROUP BY item.run_id, item.model, named.scorer;
