-- Requested model by served model, over all answers. served_model NULL: the answer named none.
-- Parameters: none
SELECT model AS requested_model, served_model, count(*) AS answers, min(sent_at) AS first_at, max(sent_at) AS last_at
FROM attempts WHERE drew = 'yes'
GROUP BY model, served_model ORDER BY model, answers DESC, served_model;
