-- Which occasion of its job a run was for; NULL: none.

ALTER TABLE runs ADD COLUMN occasion VARCHAR;

-- until now it was only in the generation's name, which begins with the job's
UPDATE runs SET occasion = substr(generation, length(job) + 2) WHERE starts_with(generation, job || '@');
