-- Some request bodies, as they were sent.
-- Parameters: keys (list)
SELECT body_key, body FROM request_bodies WHERE body_key IN (SELECT unnest($keys::VARCHAR[]));
