-- The samples that runs asked, by what they are scored by: what each is called (sample_id in the run, own_id in the dataset), where what
-- the run read of it is (content_key, see `corrected_items`), and the cluster that it belongs to, by the column that the job names.
CREATE OR REPLACE VIEW asked_samples AS
SELECT run_id, sample_key, any_value(sample_id) AS sample_id, any_value(coalesce(own_id, sample_id)) AS own_id,
    any_value(content_key) AS content_key, any_value(cluster) AS cluster
FROM corrected_items
GROUP BY run_id, sample_key;
