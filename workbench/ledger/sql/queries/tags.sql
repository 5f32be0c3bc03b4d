-- The tags of runs, one per row.
-- Parameters: run_id (NULL takes all)
SELECT run_id, tag.key AS tag, tag.value AS value
FROM (
    SELECT run_id, unnest(map_entries(tags)) AS tag FROM run_overview WHERE $run_id IS NULL OR run_id = $run_id
)
ORDER BY run_id, tag;
