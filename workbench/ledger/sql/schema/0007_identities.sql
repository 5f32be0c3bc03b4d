-- What identities rest on: the base that the model list names for a preset, and what a run does with fallbacks.

ALTER TABLE models_seen ADD COLUMN base VARCHAR;
UPDATE models_seen SET base = json_extract_string(raw, '$.info.base_model_id') WHERE json_valid(raw);

ALTER TABLE runs ADD COLUMN on_fallback VARCHAR;  -- accept, exclude or fail; NULL: exclude

ALTER TABLE runs ADD COLUMN scorers VARCHAR[];  -- the labels of its job's scorers, in its order; NULL: an earlier version's
