-- Names of all attempts, not only of those that used allowance by the rules of the time: the rules may be corrected.

INSERT INTO served_names
SELECT DISTINCT attempt.run_id, attempt.model, attempt.served_model
FROM attempts AS attempt ANTI JOIN served_names AS known
    ON known.run_id = attempt.run_id AND known.model = attempt.model
        AND known.served_model IS NOT DISTINCT FROM attempt.served_model;
