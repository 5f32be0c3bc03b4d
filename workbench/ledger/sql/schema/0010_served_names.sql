-- Under which names the models of a run answered: a few rows a run, so that who answered is found out by name, not by call.

CREATE TABLE served_names (
    run_id VARCHAR NOT NULL,
    model VARCHAR NOT NULL,         -- as requested
    served_model VARCHAR            -- as answered; NULL: the answer named none
);

INSERT INTO served_names SELECT DISTINCT run_id, model, served_model FROM attempts WHERE drew = 'yes';
