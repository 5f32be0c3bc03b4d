-- What judges said of the answers of some runs, by answer, judge (its label) and rubric (its settings): the oldest score and the
-- newest that counts, of those that are there (NULL: it gave no verdict). An answer that several of the runs use is one, for each target
-- by which it was judged. Answers of samples that were taken out are not among them, nor those of other models, unless they are accepted,
-- nor what was said before a target was corrected. cluster: see `cluster_of`.
-- Parameters: run_ids (list), cluster, on_fallback (`exclude` or `accept`)
WITH verdict AS (
    SELECT item.answer_run_id, item.answer_call_no, item.side, item.sample_id, item.sample_key, item.content_key, item.own_id, item.cluster,
        item.epoch,
        score.scorer, score.scorer_config, score.recorded_at, score.value, score.reason, score.extracted
    FROM scores AS score
    JOIN item_identities AS item ON item.run_id = score.run_id AND item.request_key = score.request_key
    LEFT JOIN standing_corrections AS corrected ON corrected.run_id = item.run_id AND corrected.sample_key = item.recorded_key
    WHERE list_contains($run_ids::VARCHAR[], score.run_id) AND list_contains($run_ids::VARCHAR[], item.run_id)
        AND json_extract_string(score.scorer_config, '$.name') = 'judge' AND NOT starts_with(score.reason, 'pending: ')
        AND NOT starts_with(score.reason, 'left out: ')
        AND NOT item.invalid AND (NOT item.another OR $on_fallback = 'accept')
        AND (corrected.recorded_at IS NULL OR score.recorded_at > corrected.recorded_at)
)
SELECT verdict.answer_run_id, verdict.answer_call_no, verdict.scorer, verdict.scorer_config,
    any_value(verdict.side) AS model, any_value(verdict.sample_id) AS sample_id, verdict.sample_key,
    any_value(cluster_of($cluster, verdict.cluster, verdict.own_id, sample.sample)) AS cluster, any_value(verdict.epoch) AS epoch,
    max(verdict.recorded_at) AS judged_at,
    arg_max({value: verdict.value}, verdict.recorded_at).value AS value,
    arg_max({extracted: verdict.extracted}, verdict.recorded_at).extracted AS extracted,
    arg_max(verdict.reason, verdict.recorded_at) AS reason,
    arg_min({value: verdict.value}, verdict.recorded_at).value AS first_value,
    arg_min({extracted: verdict.extracted}, verdict.recorded_at).extracted AS first_extracted
FROM verdict LEFT JOIN samples AS sample ON sample.sample_key = verdict.content_key
GROUP BY verdict.answer_run_id, verdict.answer_call_no, verdict.sample_key, verdict.scorer, verdict.scorer_config
ORDER BY length(any_value(verdict.sample_id)), any_value(verdict.sample_id), any_value(verdict.side), any_value(verdict.epoch),
    verdict.answer_run_id, verdict.answer_call_no, verdict.sample_key, verdict.scorer, verdict.scorer_config;
