-- What answers to some requests used before, in any run, with what a variance needs; only those that reported it.
-- Parameters: request_keys (list)
SELECT count(*) AS answers, sum(total_tokens)::DOUBLE AS tokens,
    sum(total_tokens * total_tokens)::DOUBLE AS squares
FROM judged_attempts
WHERE accepted AND total_tokens IS NOT NULL AND request_key IN (SELECT unnest($request_keys::VARCHAR[]))
GROUP BY request_key;
