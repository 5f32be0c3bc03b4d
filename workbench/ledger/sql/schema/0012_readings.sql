-- What somebody read of the account's allowance elsewhere, say in the chat UI; the newest of a reading_id counts.

CREATE TABLE readings (
    reading_id VARCHAR NOT NULL,
    recorded_at TIMESTAMP NOT NULL,
    read_at TIMESTAMP NOT NULL,     -- when it was so
    of_what VARCHAR NOT NULL,       -- used | left
    share_low DOUBLE,               -- of the total, from 0 to 1: what rounds to the number that was read
    share_high DOUBLE,
    units_low DOUBLE,               -- or in units
    units_high DOUBLE,
    total_units DOUBLE,             -- if it was read as well
    said VARCHAR NOT NULL,          -- as it was given
    withdrawn BOOLEAN NOT NULL
);
