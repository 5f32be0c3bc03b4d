-- The newest run of each job beside the one before it, both ended: by model (and variant), the samples of which both have a
-- score (see `sample_scores`) by the job's first scorer, how many are better and worse, and the differences' mean and standard
-- deviation. Samples of which both runs use the same answers are left out: they cannot differ. is_binary: all scores are 0 or
-- 1. clustered: the scores by the metadata column `cluster`, where every sample has it (NULL: it has not).
-- Parameters: job (NULL takes all)
WITH ended AS (
    SELECT job, run_id, started_at, scorers[1] AS scorer,
        row_number() OVER (PARTITION BY job ORDER BY started_at DESC, run_id DESC) AS place
    FROM run_overview
    WHERE status IN ('complete', 'gate_failed') AND ($job IS NULL OR job = $job)
),
pair AS (
    SELECT newest.job, newest.run_id, before.run_id AS before_run_id, newest.scorer, newest.started_at
    FROM ended AS newest JOIN ended AS before ON before.job = newest.job AND before.place = 2
    WHERE newest.place = 1 AND newest.scorer IS NOT NULL
),
by_sample AS (
    SELECT sample.*, json_extract_string(content.sample, '/metadata/cluster') AS cluster
    FROM sample_scores((SELECT list(run_id) FROM (SELECT run_id FROM pair UNION SELECT before_run_id FROM pair))) AS sample
    LEFT JOIN samples AS content USING (sample_key)
    WHERE sample.value IS NOT NULL
)
SELECT pair.job, pair.run_id, pair.before_run_id, pair.scorer, newest.side AS model, count(*) AS samples,
    count(*) FILTER (newest.value - before.value > 1e-9) AS better,
    count(*) FILTER (newest.value - before.value < -1e-9) AS worse,
    avg(newest.value - before.value) AS difference, stddev_samp(newest.value - before.value) AS deviation,
    bool_and(newest.value IN (0, 1) AND before.value IN (0, 1)) AS is_binary,
    CASE WHEN count(newest.cluster) = count(*)
        THEN list({newest: newest.value, before: before.value, cluster: newest.cluster}) END AS clustered
FROM pair
JOIN by_sample AS newest ON newest.run_id = pair.run_id AND newest.scorer = pair.scorer
JOIN by_sample AS before
    ON before.run_id = pair.before_run_id AND before.scorer = pair.scorer AND before.side = newest.side
        AND before.sample_key = newest.sample_key AND before.answers <> newest.answers
GROUP BY pair.job, pair.run_id, pair.before_run_id, pair.scorer, newest.side
ORDER BY pair.job, model;
