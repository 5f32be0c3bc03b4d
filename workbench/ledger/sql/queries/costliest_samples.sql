-- The samples that used most tokens, over all runs, models and epochs.
-- Parameters: most
WITH costliest AS (
    SELECT sample_key, count(*) AS calls, sum(total_tokens)::BIGINT AS total_tokens, max(total_tokens) AS most_tokens,
        arg_max(model, total_tokens) AS costliest_model, arg_max(run_id, total_tokens) AS run_id
    FROM attempts WHERE total_tokens IS NOT NULL
    GROUP BY sample_key ORDER BY total_tokens DESC, sample_key LIMIT $most
),
named AS (
    SELECT sample_key, any_value(sample_id) AS sample_id
    FROM run_items WHERE sample_key IN (SELECT sample_key FROM costliest) GROUP BY sample_key
)
SELECT costliest.*, coalesce(named.sample_id, 'not named') AS sample_id, run.job
FROM costliest LEFT JOIN named USING (sample_key) LEFT JOIN run_overview AS run USING (run_id)
ORDER BY total_tokens DESC, sample_key;
