-- The attempts with what follows from their outcomes today (see `outcomes`). The columns of the same names in `attempts` hold
-- what followed when they were recorded, for older versions of this program; here they count only for an outcome that this
-- version does not know. An outcome that was corrected since counts in place of the recorded one.
CREATE OR REPLACE VIEW judged_attempts AS
SELECT
    attempt.* REPLACE (
        coalesce(corrected.outcome, attempt.outcome) AS outcome,
        coalesce(corrected.evidence, attempt.evidence) AS evidence,
        coalesce(known.accepted, attempt.accepted) AS accepted,
        coalesce(known.rerun, attempt.rerun) AS rerun,
        coalesce(known.scorable, attempt.scorable) AS scorable,
        CASE WHEN attempt.sent = 'never' THEN 'no' ELSE coalesce(known.drew, attempt.drew) END AS drew
    ),
    coalesce(known.concluded, true) AS concluded,
    coalesce(known.ends, '') AS ends,
    known.resembles
FROM attempts AS attempt
LEFT JOIN corrected_outcomes AS corrected ON corrected.run_id = attempt.run_id AND corrected.call_no = attempt.call_no
LEFT JOIN outcomes AS known ON known.outcome = coalesce(corrected.outcome, attempt.outcome);
