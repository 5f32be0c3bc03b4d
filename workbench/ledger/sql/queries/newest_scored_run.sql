-- The newest run of which anything is scored; no row where none is.
-- Parameters: none
SELECT run_id FROM runs
WHERE event = 'started' AND run_id IN (SELECT run_id FROM scores WHERE value IS NOT NULL)
ORDER BY recorded_at DESC, run_id DESC
LIMIT 1;
