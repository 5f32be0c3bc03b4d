-- Calls that were sent and have no recorded end. Only the runs with more calls than ends are looked through for such: to join all
-- calls with their ends takes most of the time of a query over many.
CREATE OR REPLACE VIEW open_calls AS
WITH open_run AS (
    SELECT run_id
    FROM (SELECT run_id, count(*) AS calls FROM requests GROUP BY run_id) AS sent
    LEFT JOIN (SELECT run_id, count(*) AS ends FROM attempts GROUP BY run_id) AS ended USING (run_id)
    WHERE calls > coalesce(ends, 0)
)
SELECT request.run_id, request.call_no, request.model, request.sent_at
FROM (SELECT * FROM requests WHERE run_id IN (FROM open_run)) AS request
ANTI JOIN (SELECT run_id, call_no FROM attempts WHERE run_id IN (FROM open_run)) AS attempt USING (run_id, call_no);
