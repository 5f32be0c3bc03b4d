-- Whether anything of a run was scored, if only to say that it could not be.
-- Parameters: run_id
SELECT EXISTS (FROM scores WHERE run_id = $run_id) AS scored;
