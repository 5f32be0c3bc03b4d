-- The runs that asked routes what they can do (`workbench probe`), and not what a job wants to know.
CREATE OR REPLACE VIEW probe_runs AS
SELECT run_id, any_value(recorded_at) AS started_at
FROM runs WHERE event = 'started' AND job = 'probe' AND tags['probe'] IS NOT NULL GROUP BY run_id;
