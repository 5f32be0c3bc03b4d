-- The ledger's tables. Append-only, without keys or indexes: the ingest keeps what must be unique unique.
-- Times are UTC. Token counts are as the platform reported them; NULL is unknown, which is not zero.

CREATE TABLE schema_versions (
    version BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,        -- of the migration's text
    applied_at TIMESTAMP NOT NULL
);

CREATE TABLE ingested_journals (
    name VARCHAR NOT NULL,          -- the journal's file name
    records BIGINT NOT NULL,
    ingested_at TIMESTAMP NOT NULL
);

CREATE TABLE runs (                 -- events: a killed run has started and not ended
    run_id VARCHAR NOT NULL,
    event VARCHAR NOT NULL,         -- started | ended
    recorded_at TIMESTAMP NOT NULL,
    job VARCHAR,                    -- from here to resumed_run: of started
    job_path VARCHAR,
    job_toml VARCHAR,               -- the job file verbatim
    job_hash VARCHAR,
    tags MAP(VARCHAR, VARCHAR),
    generation VARCHAR,
    planned BIGINT,                 -- requests
    dataset_paths VARCHAR,
    dataset_hash VARCHAR,
    dataset_rows BIGINT,            -- samples taken
    endpoint VARCHAR,
    identity VARCHAR,               -- the endpoint's part of a request key
    simulated BOOLEAN,
    key_fingerprint VARCHAR,
    host VARCHAR,
    pid BIGINT,
    max_in_flight BIGINT,
    versions MAP(VARCHAR, VARCHAR),
    limits MAP(VARCHAR, VARCHAR),
    git_commit VARCHAR,
    git_dirty BOOLEAN,
    fresh BOOLEAN,
    resumed_run VARCHAR,
    status VARCHAR,                 -- from here: of ended
    exit_code BIGINT,
    duration_s DOUBLE,
    reason VARCHAR
);

CREATE TABLE models_seen (
    run_id VARCHAR NOT NULL,
    recorded_at TIMESTAMP NOT NULL,
    model VARCHAR NOT NULL,
    owned_by VARCHAR,
    preset BOOLEAN NOT NULL,
    raw VARCHAR NOT NULL            -- the list entry, JSON verbatim
);

CREATE TABLE samples (              -- content-addressed
    sample_key VARCHAR NOT NULL,
    sample VARCHAR NOT NULL         -- JSON: input, target, choices, tools, metadata
);

CREATE TABLE request_bodies (       -- content-addressed
    body_key VARCHAR NOT NULL,
    body VARCHAR NOT NULL           -- JSON as sent
);

CREATE TABLE requests (             -- intents: what was about to be sent, whether or not an answer came
    run_id VARCHAR NOT NULL,
    call_no BIGINT NOT NULL,        -- counted within the run
    request_key VARCHAR NOT NULL,
    generation VARCHAR NOT NULL,
    body_key VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    sample_key VARCHAR NOT NULL,
    epoch BIGINT NOT NULL,
    occurrence BIGINT NOT NULL,
    tools VARCHAR,                  -- offered | forced; NULL: none were sent
    sent_at TIMESTAMP NOT NULL
);

CREATE TABLE run_items (            -- which answers a run uses, whoever paid for them
    run_id VARCHAR NOT NULL,
    request_key VARCHAR NOT NULL,
    generation VARCHAR NOT NULL,
    model VARCHAR NOT NULL,         -- as requested
    sample_id VARCHAR NOT NULL,
    sample_key VARCHAR NOT NULL,
    epoch BIGINT NOT NULL,
    reused BOOLEAN NOT NULL,
    answer_run_id VARCHAR NOT NULL, -- the run that paid
    answer_call_no BIGINT NOT NULL
);

CREATE TABLE attempts (
    run_id VARCHAR NOT NULL,
    call_no BIGINT NOT NULL,
    request_key VARCHAR NOT NULL,
    generation VARCHAR NOT NULL,
    model VARCHAR NOT NULL,         -- as requested
    served_model VARCHAR,           -- as answered
    sample_key VARCHAR NOT NULL,
    epoch BIGINT NOT NULL,
    outcome VARCHAR NOT NULL,
    accepted BOOLEAN NOT NULL,
    rerun BOOLEAN NOT NULL,         -- a rerun sends it again
    scorable BOOLEAN NOT NULL,
    drew VARCHAR NOT NULL,          -- yes | maybe | no
    evidence VARCHAR NOT NULL,
    sent VARCHAR NOT NULL,          -- never | maybe | answered
    sent_at TIMESTAMP NOT NULL,
    ended_at TIMESTAMP NOT NULL,
    latency_ms DOUBLE NOT NULL,
    http_status BIGINT,
    retry_after_s DOUBLE,
    error_text VARCHAR,
    finish_reason VARCHAR,
    response_id VARCHAR,
    prompt_tokens BIGINT,
    completion_tokens BIGINT,
    reasoning_tokens BIGINT,
    total_tokens BIGINT
);

CREATE TABLE responses (
    run_id VARCHAR NOT NULL,
    call_no BIGINT NOT NULL,
    answer VARCHAR,
    reasoning VARCHAR,
    raw VARCHAR                     -- the body verbatim
);

CREATE TABLE tool_calls (
    run_id VARCHAR NOT NULL,
    call_no BIGINT NOT NULL,
    position BIGINT NOT NULL,       -- from 1, in the order of the answer
    id VARCHAR,
    name VARCHAR NOT NULL,
    arguments VARCHAR NOT NULL      -- verbatim; usually JSON
);

CREATE TABLE scores (               -- the newest of a run, request and scorer counts
    run_id VARCHAR NOT NULL,
    request_key VARCHAR NOT NULL,
    scorer VARCHAR NOT NULL,        -- its label
    scorer_config VARCHAR NOT NULL, -- JSON
    recorded_at TIMESTAMP NOT NULL,
    value DOUBLE,                   -- NULL: unscored
    reason VARCHAR NOT NULL,
    extracted VARCHAR
);
