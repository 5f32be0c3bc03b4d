-- How often each model was forced to call a tool and answered at all, and how often it then called one.
-- Parameters: none
SELECT request.model, count(*) AS forced, count(*) FILTER (called.call_no IS NOT NULL) AS called
FROM requests AS request
JOIN judged_attempts AS attempt USING (run_id, call_no)
LEFT JOIN (SELECT DISTINCT run_id, call_no FROM tool_calls) AS called USING (run_id, call_no)
WHERE request.tools = 'forced' AND attempt.drew = 'yes'
GROUP BY request.model;
