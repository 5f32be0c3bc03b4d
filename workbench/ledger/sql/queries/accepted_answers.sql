-- The newest accepted answer of each of some requests.
-- Parameters: request_keys (list), generation (NULL takes any)
SELECT request_key, arg_max(run_id, ended_at) AS run_id, arg_max(call_no, ended_at) AS call_no,
    arg_max(generation, ended_at) AS generation, arg_max(ends = 'cut_off', ended_at) AS is_cut
FROM judged_attempts
WHERE accepted AND ($generation IS NULL OR generation = $generation) AND request_key IN (SELECT unnest($request_keys::VARCHAR[]))
GROUP BY request_key;
