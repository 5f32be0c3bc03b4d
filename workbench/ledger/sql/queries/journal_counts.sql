-- Entries of each kind that the ingested journals held, as counted when they were read, beside the rows that the ledger
-- has of it; without samples, of which the ledger keeps each content once. recorded NULL: a journal of an older version was
-- ingested without being counted.
-- Parameters: none
WITH counted AS (
    SELECT kind.key AS kind, sum(kind.value)::BIGINT AS entries
    FROM (SELECT unnest(map_entries(kinds)) AS kind FROM ingested_journals) GROUP BY kind.key
),
held (kind, rows) AS (
    SELECT 'run_started', count(*) FROM runs WHERE event = 'started'
    UNION ALL SELECT 'run_ended', count(*) FROM runs WHERE event = 'ended'
    UNION ALL SELECT 'model', count(*) FROM models_seen
    UNION ALL SELECT 'intent', count(*) FROM requests
    UNION ALL SELECT 'answer', count(*) FROM attempts
    UNION ALL SELECT 'reuse', count(*) FROM run_items WHERE reused
    UNION ALL SELECT 'score', count(*) FROM scores
    UNION ALL SELECT 'reference', count(*) FROM reference_scores
    UNION ALL SELECT 'pace', count(*) FROM paces
    UNION ALL SELECT 'gate', count(*) FROM gates
    UNION ALL SELECT 'invalid', count(*) FROM invalidations
    UNION ALL SELECT 'accepted_change', count(*) FROM acceptances
    UNION ALL SELECT 'target', count(*) FROM target_corrections
    UNION ALL SELECT 'unsent', count(*) FROM unsent_samples
    UNION ALL SELECT 'reading', count(*) FROM readings
)
SELECT kind, held.rows, CASE WHEN complete THEN coalesce(counted.entries, 0) END AS recorded
FROM held LEFT JOIN counted USING (kind), (SELECT count(*) = count(kinds) AS complete FROM ingested_journals)
ORDER BY kind;
