-- The items of runs (see `item_outcomes`) with who answered each (NULL: nothing accepted did), as `served_identities` says; whether its sample was taken out
-- (`workbench invalidate`); another: whether another model gave it, or is suspected to have; and whether the answer counts in
-- scores: another model's does only where the run's job accepts them.
CREATE OR REPLACE VIEW item_identities AS
SELECT
    item.*,
    CASE WHEN item.accepted THEN who.identity END AS identity,
    CASE WHEN item.accepted THEN who.evidence END AS identity_evidence,
    coalesce(taken.invalid, false) AS invalid,
    coalesce(who.identity IN ('fallback', 'suspected'), false) AS another,
    NOT coalesce(taken.invalid, false) AND (NOT another OR coalesce(run.on_fallback, 'exclude') = 'accept') AS counts
FROM item_outcomes AS item
LEFT JOIN served_identities AS who
    ON who.run_id = item.answer_run_id AND who.model = item.model AND who.served_model IS NOT DISTINCT FROM item.served_model
LEFT JOIN (SELECT run_id, any_value(on_fallback) AS on_fallback FROM runs WHERE event = 'started' GROUP BY run_id) AS run
    ON run.run_id = item.run_id
LEFT JOIN (
    SELECT run_id, sample_key, arg_max(invalid, recorded_at) AS invalid FROM invalidations GROUP BY run_id, sample_key
) AS taken ON taken.run_id = item.run_id AND taken.sample_key = item.recorded_key;
