-- The samples of some runs by run and model, with the score of one scorer: value is what the job reduces the epochs to that
-- are scored and count, NULL where none does. asked, answered and scored count epochs. left_out: scored answers of
-- fallbacks, where those do not count; unread: answers that the scorer could not judge. cluster: the metadata column that
-- says which samples vary together. Samples that were taken out are not among them. In the order of their ids, 2 before 10.
-- on_fallback NULL: as each run's job says.
-- Parameters: run_ids (list), scorer, cluster (the name of a metadata column), on_fallback
WITH item AS (
    SELECT item.*, run.on_fallback, run.reduce,
        who.identity IS DISTINCT FROM 'fallback'
            OR coalesce($on_fallback, run.on_fallback, 'exclude') = 'accept' AS counts
    FROM item_outcomes AS item
    JOIN item_identities AS who
        ON who.run_id = item.run_id AND who.request_key = item.request_key AND list_contains($run_ids::VARCHAR[], who.run_id)
    LEFT JOIN run_overview AS run ON run.run_id = item.run_id
    WHERE list_contains($run_ids::VARCHAR[], item.run_id) AND NOT who.invalid
)
SELECT item.run_id, item.side AS model, item.sample_key, any_value(item.sample_id) AS sample_id, count(*) AS asked,
    count(*) FILTER (item.accepted) AS answered,
    count(score.value) FILTER (item.counts) AS scored,
    reduced(
        any_value(item.reduce), list(score.value) FILTER (item.counts AND score.value IS NOT NULL)
    ) AS value,
    count(score.value) FILTER (NOT item.counts) AS left_out,
    count(*) FILTER (item.counts AND score.request_key IS NOT NULL AND score.value IS NULL AND item.scorable) AS unread,
    any_value(json_extract_string(sample.sample, '/metadata/' || replace(replace($cluster, '~', '~0'), '/', '~1'))) AS cluster
FROM item
LEFT JOIN (
    SELECT run_id, request_key, arg_max({value: value}, recorded_at).value AS value
    FROM scores WHERE scorer = $scorer AND list_contains($run_ids::VARCHAR[], run_id)
    GROUP BY run_id, request_key
) AS score ON score.run_id = item.run_id AND score.request_key = item.request_key
LEFT JOIN samples AS sample ON sample.sample_key = item.sample_key
GROUP BY item.run_id, item.side, item.sample_key
ORDER BY item.run_id, item.side, length(any_value(item.sample_id)), any_value(item.sample_id), item.sample_key;
