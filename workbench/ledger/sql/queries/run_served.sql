-- Requested against served model, over the answers of a run's own calls. served_model NULL: the answer named none.
-- Parameters: run_id
SELECT model AS requested_model, served_model, count(*) AS answers
FROM attempts WHERE run_id = $run_id AND drew = 'yes'
GROUP BY model, served_model ORDER BY model, answers DESC, served_model;
