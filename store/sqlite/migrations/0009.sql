CREATE TABLE places (id BLOB PRIMARY KEY CHECK (length(id) = 32), seq INTEGER NOT NULL, sealed BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX places_seq ON places (seq);
INSERT INTO meta VALUES ('places', 0), ('places_dropped', 0);
