-- What a scorer read in the answers of some runs, by side, sample and epoch; without the samples that were taken out. state: see `state_of`.
-- Of rows that are one sample the first answers for it, or what is repeated would count more than the rest.
-- value and extracted: NULL where it says nothing.
-- Parameters: run_ids (list), scorer, on_fallback (NULL: as each run's job says)
WITH score AS (
    SELECT run_id, request_key, arg_max({value: value, reason: reason, extracted: extracted}, recorded_at) AS said
    FROM scores WHERE list_contains($run_ids::VARCHAR[], run_id) AND scorer = $scorer
    GROUP BY run_id, request_key
)
SELECT item.run_id, item.side, item.sample_key, item.epoch, score.said.value AS value, score.said.extracted AS extracted,
    state_of(
        NOT item.another OR coalesce($on_fallback, run.on_fallback, 'exclude') = 'accept', item.ends, score.said.value, score.said.reason,
        run.counted_unknown
    ) AS state
FROM item_identities AS item
LEFT JOIN run_overview AS run ON run.run_id = item.run_id
LEFT JOIN score ON score.run_id = item.run_id AND score.request_key = item.request_key
WHERE list_contains($run_ids::VARCHAR[], item.run_id) AND NOT item.invalid
QUALIFY dense_rank() OVER (PARTITION BY item.run_id, item.sample_key ORDER BY length(item.sample_id), item.sample_id) = 1
ORDER BY item.run_id, item.side, item.sample_key, item.epoch;
