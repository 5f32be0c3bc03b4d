-- That a sample of a run was asked with a wrong target: scores are by that of another sample, which asks the same. The newest row of
-- a run and sample counts.

CREATE TABLE target_corrections (
    run_id VARCHAR NOT NULL,
    recorded_at TIMESTAMP NOT NULL,
    sample_key VARCHAR NOT NULL,    -- as the run recorded it
    reason VARCHAR NOT NULL,
    corrected_key VARCHAR           -- of the sample with the right target; NULL: the recorded one counts again
);
