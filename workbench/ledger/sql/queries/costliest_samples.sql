-- The samples that used most tokens, over all runs, models and epochs, each with its costliest call: of several the one of the
-- newest run.
-- Parameters: most
WITH costliest AS (
    SELECT sample_key, count(*) AS calls, sum(total_tokens)::BIGINT AS total_tokens
    FROM attempts WHERE total_tokens IS NOT NULL
    GROUP BY sample_key ORDER BY total_tokens DESC, sample_key LIMIT $most
),
dearest AS (
    SELECT sample_key, max({tokens: attempt.total_tokens, run_id: attempt.run_id, call_no: attempt.call_no, model: attempt.model}) AS call
    FROM attempts AS attempt SEMI JOIN costliest USING (sample_key)
    WHERE attempt.total_tokens IS NOT NULL GROUP BY sample_key
),
named AS (
    SELECT sample_key, arg_max(sample_id, run_id) AS sample_id
    FROM run_items SEMI JOIN costliest USING (sample_key) GROUP BY sample_key
)
SELECT costliest.*, call.tokens AS most_tokens, call.model AS costliest_model, call.run_id AS run_id,
    coalesce(named.sample_id, 'not named') AS sample_id, run.job
FROM costliest
JOIN dearest USING (sample_key)
LEFT JOIN named USING (sample_key)
LEFT JOIN run_overview AS run ON run.run_id = call.run_id
ORDER BY total_tokens DESC, sample_key;
