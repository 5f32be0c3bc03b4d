-- How many models and epochs a run asked.
-- Parameters: run_id
SELECT count(DISTINCT concat_ws(' · ', model, variant)) AS models, coalesce(max(epoch),
    1) AS epochs FROM run_items WHERE run_id = $run_id;
