-- What scores without a model, from the targets and the dataset's own columns: see `scoring.reference`. Of a run and scorer the rows
-- that were recorded last count.

CREATE TABLE reference_scores (
    run_id VARCHAR NOT NULL,
    recorded_at TIMESTAMP NOT NULL,
    scorer VARCHAR NOT NULL,
    reference VARCHAR NOT NULL,     -- constant, majority, random, people or column; none: nothing scores without a model
    column_name VARCHAR NOT NULL,   -- what the job calls a column; else empty
    constant VARCHAR,               -- the answer that is always given
    sample_keys VARCHAR[] NOT NULL,
    sample_values DOUBLE[] NOT NULL, -- in the order of sample_keys
    sample_texts VARCHAR[]          -- of a column: what it says, in the same order
);
