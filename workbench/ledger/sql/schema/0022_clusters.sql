-- What the samples of a run belong to, by the column that its job names (NULL: it names none, or the sample has no value there), and
-- their ids in the dataset where several rows have the same (NULL: it is sample_id). Of each run, as its job may name another column.

ALTER TABLE run_items ADD COLUMN own_id VARCHAR;

ALTER TABLE run_items ADD COLUMN cluster VARCHAR;

ALTER TABLE unsent_samples ADD COLUMN own_id VARCHAR;

ALTER TABLE unsent_samples ADD COLUMN cluster VARCHAR;
