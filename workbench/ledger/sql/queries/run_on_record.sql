-- What there is of a run beside its answers: what it has nothing of is not asked for. clustered: a sample belongs to a cluster (see
-- `cluster_of`).
-- Parameters: run_id
SELECT EXISTS (FROM scores WHERE run_id = $run_id) AS scored,
    EXISTS (FROM gates WHERE run_id = $run_id) AS gated,
    EXISTS (FROM invalidations WHERE run_id = $run_id) AS invalidated,
    EXISTS (FROM target_corrections WHERE run_id = $run_id) AS corrected,
    EXISTS (FROM unsent_samples WHERE run_id = $run_id) AS unsent,
    EXISTS (
        FROM (SELECT DISTINCT coalesce(content_key, sample_key) AS content_key, cluster FROM run_items WHERE run_id = $run_id) AS item
        LEFT JOIN samples AS sample ON sample.sample_key = item.content_key
        WHERE item.cluster IS NOT NULL OR json_extract_string(sample.sample, '/metadata/cluster') IS NOT NULL
    ) AS clustered;
