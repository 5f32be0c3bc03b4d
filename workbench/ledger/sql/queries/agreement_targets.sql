-- What is right for the samples of some runs, as JSON, without the samples that were taken out. is_sent: whether the run sent it to any
-- model; of others nothing may be on record. cluster: what the sample belongs to, by that column. target, choices and cluster:
-- NULL where the sample has none. epochs: as many as its run was to have.
-- Parameters: run_ids (list), cluster (see `cluster_of`)
WITH planned AS (
    SELECT run_id, sample_key, content_key, true AS is_sent, invalid, own_id, cluster
    FROM item_identities WHERE list_contains($run_ids::VARCHAR[], run_id)
    UNION ALL
    SELECT run_id, sample_key, content_key, false AS is_sent, false AS invalid, coalesce(own_id, sample_id) AS own_id, cluster
    FROM corrected_unsent WHERE list_contains($run_ids::VARCHAR[], run_id)
),
asked AS (
    SELECT run_id, sample_key, bool_or(is_sent) AS is_sent, bool_or(invalid) AS invalid,
        any_value(content_key) AS content_key, any_value(own_id) AS own_id, any_value(cluster) AS cluster
    FROM planned GROUP BY run_id, sample_key
),
epochs AS (
    SELECT item.run_id, greatest(max(item.epoch), any_value(run.epochs)) AS epochs
    FROM run_items AS item JOIN run_overview AS run ON run.run_id = item.run_id
    WHERE list_contains($run_ids::VARCHAR[], item.run_id) GROUP BY item.run_id
)
SELECT asked.run_id, asked.sample_key, asked.is_sent, CAST(json_extract(sample.sample, '/target') AS VARCHAR) AS target,
    CAST(json_extract(sample.sample, '/choices') AS VARCHAR) AS choices,
    cluster_of($cluster, asked.cluster, asked.own_id, sample.sample) AS cluster,
    coalesce(epochs.epochs, 1) AS epochs
FROM asked
LEFT JOIN epochs ON epochs.run_id = asked.run_id
LEFT JOIN samples AS sample ON sample.sample_key = asked.content_key
WHERE NOT asked.invalid
ORDER BY asked.run_id, asked.sample_key;
