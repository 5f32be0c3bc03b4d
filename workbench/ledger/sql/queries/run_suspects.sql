-- Samples on which most models of a run give one and the same answer that is not right, at least three of them: perhaps the
-- target is wrong. answer: what the scorer read; agree: how many models gave it, of all that were scored.
-- Parameters: run_id, scorer
WITH judged AS (
    SELECT item.sample_key, item.sample_id, concat_ws(' · ', item.model, item.variant) AS model, score.extracted, score.value
    FROM run_items AS item
    JOIN counted_scores AS score
        ON score.run_id = item.run_id AND score.request_key = item.request_key AND score.scorer = $scorer
    WHERE item.run_id = $run_id AND item.epoch = 1 AND score.value IS NOT NULL
),
alike AS (
    SELECT sample_key, extracted AS answer, count(DISTINCT model) AS agree
    FROM judged WHERE value < 1 AND extracted IS NOT NULL GROUP BY sample_key, extracted
),
asked AS (SELECT sample_key, any_value(sample_id) AS sample_id,
    count(DISTINCT model) AS models FROM judged GROUP BY sample_key)
SELECT asked.sample_id, json_extract_string(sample.sample, '$.target') AS target, alike.answer, alike.agree, asked.models
FROM alike JOIN asked USING (sample_key) LEFT JOIN samples AS sample USING (sample_key)
WHERE alike.agree >= 3 AND 2 * alike.agree > asked.models
ORDER BY alike.agree DESC, asked.sample_id;
