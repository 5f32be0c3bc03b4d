-- What a gate rests on as values, from which its sentence is made when it is shown; rows of earlier versions have the
-- sentence itself, in reason.

ALTER TABLE gates ADD COLUMN evidence VARCHAR;      -- JSON: of (which kind), and its numbers
