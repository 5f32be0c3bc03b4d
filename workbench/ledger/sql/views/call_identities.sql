-- Who gave each answer, and what says so; see `served_identities`.
CREATE OR REPLACE VIEW call_identities AS
SELECT attempt.run_id, attempt.call_no, who.identity, who.evidence
FROM judged_attempts AS attempt
JOIN served_identities AS who
    ON who.run_id = attempt.run_id AND who.model = attempt.model AND who.served_model IS NOT DISTINCT FROM attempt.served_model
WHERE attempt.drew = 'yes';
