-- The newest run of each job beside the one before it (see `job_pairs`): by model (and variant), the differences by the job's first scorer
-- (see `sample_scores`) on the samples that both were asked: of those that are known of both, and of all at the lowest and at the
-- highest that they can be (NULL: no scale says so). Of each, how many samples there are, are better and are worse, the
-- differences' mean and standard deviation, whether all scores are 0 or 1, the length of the scale (NULL: some sample has none), and
-- the scores by cluster (see `cluster_of`), where some sample has one; one without is a cluster of its own. Samples of which both
-- runs use the same answers are left out: they cannot differ.
-- Parameters: none
WITH answers AS (
    SELECT run_id, side, sample_key,
        list_sort(list(answer_run_id || ' ' || answer_call_no) FILTER (answer_run_id IS NOT NULL)) AS answers
    FROM corrected_items GROUP BY run_id, side, sample_key
),
by_sample AS (
    SELECT score.*, score.scale[2] - score.scale[1] AS span, answers.answers,
        cluster_of('cluster', asked.cluster, asked.own_id, content.sample) AS cluster
    FROM sample_scores((SELECT list(run_id) FROM (SELECT run_id FROM job_pairs UNION SELECT before_run_id FROM job_pairs))) AS score
    JOIN asked_samples AS asked ON asked.run_id = score.run_id AND asked.sample_key = score.sample_key
    LEFT JOIN answers ON answers.run_id = score.run_id AND answers.side = score.side AND answers.sample_key = score.sample_key
    LEFT JOIN samples AS content ON content.sample_key = asked.content_key
    WHERE score.excluded IS NULL
),
beside AS (
    SELECT pair.job, pair.run_id, pair.before_run_id, pair.scorer, newest.side AS model,
        CASE WHEN newest.span IS NOT NULL AND before.span IS NOT NULL THEN greatest(newest.span, before.span) END AS span,
        unnest([
            {ends: 'known', one: newest.value, other: before.value, cluster: newest.cluster, own: newest.sample_key},
            {ends: 'lowest', one: newest.low, other: before.high, cluster: newest.cluster, own: newest.sample_key},
            {ends: 'highest', one: newest.high, other: before.low, cluster: newest.cluster, own: newest.sample_key}
        ]) AS found
    FROM job_pairs AS pair
    JOIN by_sample AS newest ON newest.run_id = pair.run_id AND newest.scorer = pair.scorer
    JOIN by_sample AS before
        ON before.run_id = pair.before_run_id AND before.scorer = pair.scorer AND before.side = newest.side
            AND before.sample_key = newest.sample_key AND before.answers IS DISTINCT FROM newest.answers
),
tested AS (
    SELECT job, run_id, before_run_id, scorer, model, found.ends AS ends, count(*) AS all_samples,
        {
            samples: count(found.one - found.other),
            better: count(*) FILTER (found.one - found.other > 1e-9),
            worse: count(*) FILTER (found.one - found.other < -1e-9),
            difference: avg(found.one - found.other),
            deviation: stddev_samp(found.one - found.other),
            is_binary: bool_and(found.one IN (0, 1) AND found.other IN (0, 1)),
            span: CASE WHEN count(span) = count(*) THEN max(span) END,
            clustered: CASE WHEN count(found.cluster) > 0
                THEN list({newest: found.one, before: found.other, cluster: coalesce(found.cluster, found.own)})
                    FILTER (found.one IS NOT NULL AND found.other IS NOT NULL) END
        } AS counted
    FROM beside GROUP BY job, run_id, before_run_id, scorer, model, found.ends
)
SELECT job, run_id, before_run_id, scorer, model,
    any_value(counted) FILTER (ends = 'known' AND counted.samples > 0) AS known,
    any_value(counted) FILTER (ends = 'lowest' AND counted.samples = all_samples) AS lowest,
    any_value(counted) FILTER (ends = 'highest' AND counted.samples = all_samples) AS highest
FROM tested
GROUP BY job, run_id, before_run_id, scorer, model
HAVING known IS NOT NULL
ORDER BY job, model;
