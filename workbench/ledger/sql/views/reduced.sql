-- The score of a sample from those of its epochs. mean (or NULL) and mode are what they say, of a tie the lowest; at_least_K: 1
-- where at least K epochs are right, which is at the top of the scale. pass@K: how probably K epochs have a right one, without bias (Chen et al. 2021, Evaluating
-- Large Language Models Trained on Code: 1 - C(n - c, K) / C(n, K)); pass^K: how probably all K are right (Yao et al. 2024,
-- tau-bench: C(c, K) / C(n, K)). NULL where fewer than K epochs are scored, or nothing says what the top is.
CREATE OR REPLACE MACRO reduced(reducer, scores, top) AS CASE
    WHEN reducer IS NULL OR reducer = 'mean' THEN list_aggregate(scores, 'avg')
    WHEN reducer = 'mode' THEN list_aggregate(list_sort(scores), 'mode')
    WHEN top IS NULL OR len(scores) < CAST(regexp_extract(reducer, '[0-9]+$') AS BIGINT) THEN NULL
    WHEN starts_with(reducer, 'at_least_')
        THEN CAST(len(list_filter(scores, lambda s: s >= top)) >= CAST(regexp_extract(reducer, '[0-9]+$') AS BIGINT) AS DOUBLE)
    WHEN starts_with(reducer, 'pass@') THEN 1 - list_aggregate(list_transform(
        range(CAST(regexp_extract(reducer, '[0-9]+$') AS BIGINT)),
        lambda i: greatest(len(list_filter(scores, lambda s: s < top)) - i, 0) / (len(scores) - i)
    ), 'product')
    WHEN starts_with(reducer, 'pass^') THEN list_aggregate(list_transform(
        range(CAST(regexp_extract(reducer, '[0-9]+$') AS BIGINT)),
        lambda i: greatest(len(list_filter(scores, lambda s: s >= top)) - i, 0) / (len(scores) - i)
    ), 'product')
END;
