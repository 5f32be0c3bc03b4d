-- How many accepted answers each request has within each generation; more than one was paid for twice.
-- Parameters: none
SELECT request_key, generation, count(*) AS answers FROM judged_attempts WHERE accepted GROUP BY request_key, generation;
