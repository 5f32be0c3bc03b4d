-- That somebody takes what a job's models show since a change for their level, or takes that back.

CREATE TABLE acceptances (
    job VARCHAR NOT NULL,
    recorded_at TIMESTAMP NOT NULL,
    accepted BOOLEAN NOT NULL,      -- false: the newest acceptance of the model before it does not count
    reason VARCHAR NOT NULL,
    model VARCHAR NOT NULL
);
