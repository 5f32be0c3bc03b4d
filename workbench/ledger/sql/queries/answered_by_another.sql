-- Those of some requests whose newest accepted answer another model gave, or is suspected to have given.
-- Parameters: request_keys (list), generation (NULL takes any)
SELECT newest.request_key
FROM (
    SELECT request_key, arg_max({run_id: run_id, model: model, served_model: served_model}, ended_at) AS answer
    FROM judged_attempts
    WHERE accepted AND ($generation IS NULL OR generation = $generation) AND request_key IN (SELECT unnest($request_keys::VARCHAR[]))
    GROUP BY request_key
) AS newest
JOIN served_identities AS who
    ON who.run_id = answer.run_id AND who.model = answer.model AND who.served_model IS NOT DISTINCT FROM answer.served_model
WHERE who.identity IN ('fallback', 'suspected')
ORDER BY newest.request_key;
