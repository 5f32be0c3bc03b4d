-- How many calls of a run ended how, by requested and served model and the quarter of an hour (UTC) in which they were sent, and what
-- they reported: what no setting touches and pages over all runs sum up. Several rows may have the same key.

CREATE TABLE call_quarters (
    run_id VARCHAR NOT NULL,
    model VARCHAR NOT NULL,         -- as requested
    served_model VARCHAR,           -- as answered; NULL: the answer named none
    outcome VARCHAR NOT NULL,       -- with accepted, drew and sent as they were recorded
    accepted BOOLEAN NOT NULL,
    drew VARCHAR NOT NULL,
    sent VARCHAR NOT NULL,
    reports VARCHAR NOT NULL,       -- parts (and their total) | total | nothing
    reports_reasoning BOOLEAN NOT NULL, -- beside the completion
    quarter_at TIMESTAMP NOT NULL,
    calls BIGINT NOT NULL,
    first_sent_at TIMESTAMP NOT NULL,
    last_sent_at TIMESTAMP NOT NULL,
    first_ended_at TIMESTAMP NOT NULL,
    last_ended_at TIMESTAMP NOT NULL,
    prompt_tokens BIGINT,           -- from here sums; NULL: no call reported any
    completion_tokens BIGINT,
    reasoning_tokens BIGINT,
    answer_tokens BIGINT,           -- completion without reasoning, whether a route reports that inside or beside it
    total_tokens BIGINT
);

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
FROM attempts
GROUP BY run_id, model, served_model, outcome, accepted, drew, sent, reports, reports_reasoning, quarter_at;
