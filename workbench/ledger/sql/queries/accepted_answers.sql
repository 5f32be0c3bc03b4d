-- The newest answer that stands of each of some requests: one that was accepted, or else one that was paid for and that no rerun
-- sends again by itself (see `outcomes`). ends: why there is nothing to score in it.
-- Parameters: request_keys (list), generation (NULL takes any)
SELECT request_key, arg_max(run_id, (accepted, ended_at)) AS run_id, arg_max(call_no, (accepted, ended_at)) AS call_no,
    arg_max(generation, (accepted, ended_at)) AS generation, arg_max(ends, (accepted, ended_at)) AS ends
FROM judged_attempts
WHERE (accepted OR (ends <> '' AND NOT rerun AND drew = 'yes')) AND ($generation IS NULL OR generation = $generation)
    AND request_key IN (SELECT unnest($request_keys::VARCHAR[]))
GROUP BY request_key;
