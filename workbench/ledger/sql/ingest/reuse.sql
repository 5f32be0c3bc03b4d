INSERT INTO run_items BY NAME
SELECT run_id, request_key, any_value(generation) AS generation, any_value(model) AS model,
    any_value(sample_id) AS sample_id, any_value(sample_key) AS sample_key, any_value(epoch) AS epoch,
    any_value(variant) AS variant, any_value(own_id) AS own_id, any_value(cluster) AS cluster,
    any_value(sample_no) AS sample_no, any_value(content_key) AS content_key,
    true AS reused, any_value(answer_run_id) AS answer_run_id, any_value(answer_call_no) AS answer_call_no
FROM staged WHERE kind = 'reuse' GROUP BY run_id, request_key;
