-- How the epochs of a sample become one score: mean, mode, at_least_K, pass@K or pass^K; NULL: mean.

ALTER TABLE runs ADD COLUMN reduce VARCHAR;
