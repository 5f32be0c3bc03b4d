-- Samples on which most models of a run give one and the same answer that is not right, at least three of them: perhaps the
-- target is wrong. answer: what the scorer read in it, or of a scorer that reads nothing there (a judge: what it has is a verdict) the
-- answer itself, without regard to case and blanks; agree: how many models gave it, of all that were scored.
-- Parameters: run_id, scorer
WITH judged AS (
    SELECT item.sample_key, item.sample_id, concat_ws(' · ', item.model, item.variant) AS model, score.value, coalesce(scale_of(score.scorer_config)[2], 1) AS top,
        CASE WHEN json_extract_string(score.scorer_config, '$.name') IS DISTINCT FROM 'judge' THEN score.extracted
            ELSE lower(regexp_replace(trim(response.answer), '\s+', ' ', 'g')) END AS given
    FROM corrected_items AS item
    JOIN counted_scores AS score
        ON score.run_id = item.run_id AND score.request_key = item.request_key AND score.scorer = $scorer
    LEFT JOIN responses AS response ON response.run_id = item.answer_run_id AND response.call_no = item.answer_call_no
    WHERE item.run_id = $run_id AND item.epoch = 1 AND score.value IS NOT NULL
),
alike AS (
    SELECT sample_key, given AS answer, count(DISTINCT model) AS agree
    FROM judged WHERE value < top AND given <> '' GROUP BY sample_key, given
),
asked AS (SELECT sample_key, any_value(sample_id) AS sample_id,
    count(DISTINCT model) AS models FROM judged GROUP BY sample_key)
SELECT asked.sample_id, json_extract_string(sample.sample, '$.target') AS target, alike.answer, alike.agree, asked.models
FROM alike JOIN asked USING (sample_key) LEFT JOIN samples AS sample USING (sample_key)
WHERE alike.agree >= 3 AND 2 * alike.agree > asked.models
ORDER BY alike.agree DESC, asked.sample_id;
