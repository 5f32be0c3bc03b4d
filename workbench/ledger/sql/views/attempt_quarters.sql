-- What `call_quarters` holds of some runs, from their attempts, with what follows from how these ended today.
CREATE OR REPLACE MACRO attempt_quarters(run_ids) AS TABLE
SELECT run_id, model, served_model, outcome, accepted, drew, concluded,
    CASE WHEN total_tokens IS NULL THEN 'nothing' WHEN prompt_tokens IS NULL OR completion_tokens IS NULL THEN 'total' ELSE 'parts' END
        AS reports,
    reasoning_tokens IS NOT NULL AND completion_tokens IS NOT NULL AS reports_reasoning,
    time_bucket(INTERVAL 15 MINUTE, sent_at) AS quarter_at, count(*) AS calls,
    min(sent_at) AS first_sent_at, max(sent_at) AS last_sent_at, min(ended_at) AS first_ended_at, max(ended_at) AS last_ended_at,
    sum(prompt_tokens)::BIGINT AS prompt_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
    sum(reasoning_tokens)::BIGINT AS reasoning_tokens,
    sum(completion_tokens - CASE
        WHEN total_tokens >= prompt_tokens + completion_tokens + reasoning_tokens THEN 0
        ELSE least(coalesce(reasoning_tokens, 0), completion_tokens)
    END)::BIGINT AS answer_tokens,
    sum(total_tokens)::BIGINT AS total_tokens
FROM judged_attempts WHERE run_id IN (SELECT unnest(run_ids::VARCHAR[]))
GROUP BY run_id, model, served_model, outcome, accepted, drew, concluded, reports, reports_reasoning, quarter_at;
