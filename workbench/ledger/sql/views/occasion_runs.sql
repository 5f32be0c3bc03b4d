-- One row an occasion of a job, and one each of its other runs. run_id: its newest run that is settled (complete, or its gate not
-- met), or else its newest; started_at: of its first run, so that to run one again moves it nowhere; run_ids: all of it.
CREATE OR REPLACE VIEW occasion_runs AS
SELECT job, occasion, arg_max(run_id, row(is_settled, began_at, run_id)) AS run_id, min(began_at) AS started_at, list(run_id) AS run_ids
FROM (
    SELECT job, occasion, run_id, started_at AS began_at, is_settled
    FROM run_overview
) AS run
GROUP BY job, occasion, coalesce(occasion, run_id);
