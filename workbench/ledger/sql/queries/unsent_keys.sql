-- The samples that some runs were to ask and did not send to any model, as they ended; by what each is scored, and what it varies together with.
-- Parameters: run_ids (list), cluster (see `cluster_of`)
SELECT unsent.run_id, unsent.sample_key, unsent.sample_id,
    any_value(cluster_of($cluster, unsent.cluster, coalesce(unsent.own_id, unsent.sample_id), sample.sample)) AS cluster
FROM corrected_unsent AS unsent
LEFT JOIN samples AS sample ON sample.sample_key = unsent.content_key
WHERE list_contains($run_ids::VARCHAR[], unsent.run_id)
GROUP BY unsent.run_id, unsent.sample_key, unsent.sample_id
ORDER BY unsent.run_id, unsent.sample_key, unsent.sample_id;
