-- How many requests a run let into flight, from each moment on, and why that changed.

CREATE TABLE paces (
    run_id VARCHAR NOT NULL,
    recorded_at TIMESTAMP NOT NULL,
    allowed BIGINT NOT NULL,
    reason VARCHAR NOT NULL         -- start | growth | latency | the outcome that told of a crowd
);
