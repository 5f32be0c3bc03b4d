-- Samples that a run planned and of which it sent no model anything, as it ended; a killed run has recorded none.

CREATE TABLE unsent_samples (
    run_id VARCHAR NOT NULL,
    sample_id VARCHAR NOT NULL,
    sample_key VARCHAR NOT NULL,
    epoch BIGINT NOT NULL
);
