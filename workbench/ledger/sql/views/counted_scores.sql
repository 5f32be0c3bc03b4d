-- The newest score of each run, request and scorer whose answer counts (see `item_identities`).
CREATE OR REPLACE VIEW counted_scores AS
SELECT score.*
FROM latest_scores AS score
JOIN item_identities AS who ON who.run_id = score.run_id AND who.request_key = score.request_key
WHERE who.counts;
