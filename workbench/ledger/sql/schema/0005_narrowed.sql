-- How a run was narrowed by whoever began it, beside what its job says (`--limit`, `--model`, `--max-in-flight`), in words;
-- NULL: not at all.

ALTER TABLE runs ADD COLUMN narrowed VARCHAR;
