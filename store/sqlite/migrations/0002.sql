CREATE TABLE pseudonyms (
  owner BLOB NOT NULL CHECK (length(owner) = 32), name TEXT NOT NULL CHECK (name <> ''),
  sealed BLOB NOT NULL CHECK (length(sealed) > 0), used INTEGER NOT NULL,
  PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX pseudonyms_used ON pseudonyms (used);
