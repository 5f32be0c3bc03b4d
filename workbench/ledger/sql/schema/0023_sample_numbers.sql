-- Which of the samples that a run takes an item is about, from 1 in the order of the dataset (NULL: of an earlier version): exports are
-- in the order of the file that people have.

ALTER TABLE run_items ADD COLUMN sample_no BIGINT;

ALTER TABLE unsent_samples ADD COLUMN sample_no BIGINT;
