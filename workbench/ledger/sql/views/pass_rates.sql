-- Scores of a run by model and scorer. mean is over scored answers only; unscored ones are counted apart.
CREATE OR REPLACE VIEW pass_rates AS
SELECT
    item.run_id,
    item.model,
    score.scorer,
    count(score.value) AS scored,
    count(*) - count(score.value) AS unscored,
    avg(score.value) AS mean,
    bool_and(score.value IN (0, 1)) FILTER (score.value IS NOT NULL) AS is_binary,
    count(DISTINCT item.sample_key) FILTER (score.value IS NOT NULL) AS samples
FROM run_items AS item
JOIN latest_scores AS score USING (run_id, request_key)
GROUP BY item.run_id, item.model, score.scorer;
