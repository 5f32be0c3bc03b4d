-- Every request with all parts of its key; identity NULL: the start of its run is not recorded.
-- Parameters: none
SELECT request.run_id, request.call_no, request.request_key, request.body_key, request.model, request.epoch,
    request.occurrence, run.identity, body.body
FROM requests AS request
LEFT JOIN request_bodies AS body USING (body_key)
LEFT JOIN (SELECT run_id, any_value(identity) AS identity FROM runs WHERE event = 'started' GROUP BY run_id) AS run
    USING (run_id);
