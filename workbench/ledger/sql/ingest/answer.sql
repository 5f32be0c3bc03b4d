INSERT INTO responses BY NAME
SELECT run_id, call_no, answer, reasoning, raw FROM staged
WHERE kind = 'answer' AND (answer IS NOT NULL OR reasoning IS NOT NULL OR raw IS NOT NULL);

INSERT INTO tool_calls BY NAME
SELECT run_id, call_no, position, call.id AS id, call.name AS name, call.arguments AS arguments
FROM (
    SELECT run_id, call_no, unnest(tool_calls) AS call, generate_subscripts(tool_calls, 1) AS position
    FROM staged WHERE kind = 'answer' AND tool_calls IS NOT NULL
);

INSERT INTO served_names BY NAME
SELECT DISTINCT staged.run_id, staged.model, staged.served_model
FROM staged ANTI JOIN served_names AS known
    ON known.run_id = staged.run_id AND known.model = staged.model
        AND known.served_model IS NOT DISTINCT FROM staged.served_model
WHERE kind = 'answer';

INSERT INTO call_quarters BY NAME
SELECT run_id, model, served_model, outcome, accepted, drew, sent,
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
FROM staged WHERE kind = 'answer'
GROUP BY run_id, model, served_model, outcome, accepted, drew, sent, reports, reports_reasoning, quarter_at;
