-- The clusters of a run by model (and variant) and scorer, where several samples in a mean belong to one (see `sample_scores`): how
-- many samples each has, and the sums of the lowest and the highest that their scores can be. A sample without one is one of its own.
-- Parameters: run_id
WITH score AS (
    SELECT score.side, score.scorer, score.low, score.high,
        coalesce(cluster_of('cluster', asked.cluster, asked.own_id, sample.sample), score.sample_key) AS cluster
    FROM sample_scores([$run_id]) AS score
    JOIN asked_samples AS asked ON asked.run_id = score.run_id AND asked.sample_key = score.sample_key
    LEFT JOIN samples AS sample ON sample.sample_key = asked.content_key
    WHERE score.run_id = $run_id AND score.excluded IS NULL
),
whole AS (
    SELECT side, scorer FROM score GROUP BY side, scorer
    HAVING count(*) = count(low) AND count(DISTINCT cluster) < count(*)
)
SELECT side AS model, scorer, count(*) AS samples, sum(low) AS low, sum(high) AS high
FROM score JOIN whole USING (side, scorer)
GROUP BY side, scorer, cluster
ORDER BY side, scorer, cluster;
