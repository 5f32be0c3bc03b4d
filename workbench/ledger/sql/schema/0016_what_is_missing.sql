-- What a run's job says of answers without a score. min_answered: of a model that is ranked, the least share of what it was asked
-- that is scored, or not right by its own doing (NULL: 0.8, of a run of an earlier version). counted_unknown: what of its own
-- doing is taken for unknown all the same.

ALTER TABLE runs ADD COLUMN min_answered DOUBLE;
ALTER TABLE runs ADD COLUMN counted_unknown VARCHAR[];
