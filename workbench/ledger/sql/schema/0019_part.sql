-- The part of its job that a run asked, as values: --resume asks the same part again. Rows of earlier versions have only the
-- words, in narrowed.

ALTER TABLE runs ADD COLUMN part VARCHAR;      -- JSON: limit, models, max_in_flight, pilot
