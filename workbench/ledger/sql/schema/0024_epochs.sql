-- How often a run asks each sample of each model (NULL: of an earlier version): epochs of which none was sent are not known.

ALTER TABLE runs ADD COLUMN epochs BIGINT;
