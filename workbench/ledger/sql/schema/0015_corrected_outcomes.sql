-- How attempts ended by a rule that was corrected after they were recorded: what `completion.judged` says of their bodies today,
-- where that is not what was recorded. Queries prefer it.

CREATE TABLE corrected_outcomes (
    run_id VARCHAR NOT NULL,
    call_no BIGINT NOT NULL,
    outcome VARCHAR NOT NULL,
    evidence VARCHAR NOT NULL,
    recorded_at TIMESTAMP NOT NULL
);
