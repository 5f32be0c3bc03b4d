-- One row a run's item, with the attempt that it uses (NULL columns: no attempt ended). reused: an earlier run paid.
-- sample_key: of the sample that it is scored by; recorded_key: of that which was asked; content_key: see `corrected_items`.
-- side: see `corrected_items`.
-- sample_id: its name in the run; own_id: its id in the dataset, which several samples may have. cluster: what it belongs to, by
-- the column that the job names (NULL: it names none). sample_no: which sample of the run it is, in the order of the dataset (NULL: of an
-- earlier version).
CREATE OR REPLACE VIEW item_outcomes AS
SELECT
    item.run_id,
    item.request_key,
    item.model,
    item.variant,
    item.side,
    item.sample_id,
    coalesce(item.own_id, item.sample_id) AS own_id,
    item.cluster,
    item.sample_no,
    item.sample_key,
    item.recorded_key,
    item.content_key,
    item.epoch,
    item.reused,
    item.answer_run_id,
    item.answer_call_no,
    attempt.* EXCLUDE (run_id, call_no, request_key, generation, model, sample_key, epoch)
FROM corrected_items AS item
LEFT JOIN judged_attempts AS attempt
    ON attempt.run_id = item.answer_run_id AND attempt.call_no = item.answer_call_no;
