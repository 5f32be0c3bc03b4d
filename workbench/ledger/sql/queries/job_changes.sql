-- The newest run of each job beside the one before it, both ended: by model (and variant), the samples that both were scored
-- on by the job's first scorer, how many are better and worse, and the differences' mean and standard deviation. Samples of
-- which both runs use the same answers are left out: they cannot differ. is_binary: all scores are 0 or 1. clustered: the
-- scores by the metadata column `cluster`, where every sample has it (NULL: it has not).
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
wanted AS (SELECT run_id, scorer FROM pair UNION SELECT before_run_id, scorer FROM pair),
judged AS (
    SELECT run_id, request_key, arg_max({value: value}, recorded_at).value AS value
    FROM scores JOIN wanted USING (run_id, scorer)
    GROUP BY run_id, request_key
),
by_sample AS (
    SELECT item.run_id, concat_ws(' · ', item.model, item.variant) AS model, item.sample_key,
        reduced(any_value(run.reduce), list(judged.value)) AS value,
        list_sort(list(item.answer_run_id || ' ' || item.answer_call_no)) AS answers,
        any_value(json_extract_string(sample.sample, '/metadata/cluster')) AS cluster
    FROM run_items AS item
    JOIN judged ON judged.run_id = item.run_id AND judged.request_key = item.request_key
    JOIN item_identities AS who ON who.run_id = item.run_id AND who.request_key = item.request_key
    JOIN run_overview AS run ON run.run_id = item.run_id
    LEFT JOIN samples AS sample ON sample.sample_key = item.sample_key
    WHERE who.counts AND judged.value IS NOT NULL AND item.run_id IN (SELECT run_id FROM wanted)
    GROUP BY ALL
)
SELECT pair.job, pair.run_id, pair.before_run_id, pair.scorer, newest.model, count(*) AS samples,
    count(*) FILTER (newest.value - before.value > 1e-9) AS better,
    count(*) FILTER (newest.value - before.value < -1e-9) AS worse,
    avg(newest.value - before.value) AS difference, stddev_samp(newest.value - before.value) AS deviation,
    bool_and(newest.value IN (0, 1) AND before.value IN (0, 1)) AS is_binary,
    CASE WHEN count(newest.cluster) = count(*)
        THEN list({newest: newest.value, before: before.value, cluster: newest.cluster}) END AS clustered
FROM pair
JOIN by_sample AS newest ON newest.run_id = pair.run_id
JOIN by_sample AS before
    ON before.run_id = pair.before_run_id AND before.model = newest.model AND before.sample_key = newest.sample_key
        AND before.answers <> newest.answers
GROUP BY pair.job, pair.run_id, pair.before_run_id, pair.scorer, newest.model
ORDER BY pair.job, newest.model;
