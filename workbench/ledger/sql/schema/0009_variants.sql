-- Which variant of its job a request is of; NULL: the job has none.

ALTER TABLE run_items ADD COLUMN variant VARCHAR;

ALTER TABLE runs ADD COLUMN variants VARCHAR[];  -- their names, in the order of the job
