-- Under which key `samples` holds what a run read of an item's sample (NULL: under its sample_key): columns that no prompt shows, as a
-- topic, a cluster or `refusal`, may say something else in a later run that asks the same.

ALTER TABLE run_items ADD COLUMN content_key VARCHAR;

ALTER TABLE unsent_samples ADD COLUMN content_key VARCHAR;
