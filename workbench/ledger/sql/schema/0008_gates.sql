-- What a run's gates decided (the newest of a run, gate, scorer and model counts), and samples that were taken out of its
-- scores, or put back (the newest counts).

CREATE TABLE gates (
    run_id VARCHAR NOT NULL,
    recorded_at TIMESTAMP NOT NULL,
    gate VARCHAR NOT NULL,          -- the key of [gates]
    scorer VARCHAR,
    model VARCHAR,
    result VARCHAR NOT NULL,        -- met | not met | cannot tell
    reason VARCHAR NOT NULL
);

CREATE TABLE invalidations (
    run_id VARCHAR NOT NULL,
    recorded_at TIMESTAMP NOT NULL,
    sample_key VARCHAR NOT NULL,
    invalid BOOLEAN NOT NULL,
    reason VARCHAR NOT NULL
);
