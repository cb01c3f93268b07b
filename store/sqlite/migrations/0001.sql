CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('format', 0), ('epoch', 1), ('decisions', 0);
CREATE TABLE secrets (
  id TEXT PRIMARY KEY CHECK (id <> ''),
  name TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL, origin TEXT NOT NULL,
  fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 16),
  print BLOB NOT NULL, length INTEGER NOT NULL, sealed BLOB,
  created INTEGER, expires INTEGER,
  UNIQUE (fingerprint, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE allows (
  id TEXT PRIMARY KEY CHECK (id <> ''),
  fingerprint BLOB CHECK (length(fingerprint) = 16),
  rule TEXT NOT NULL, path TEXT NOT NULL, reason TEXT NOT NULL, finding TEXT NOT NULL,
  created INTEGER, expires INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE decisions (id TEXT NOT NULL UNIQUE CHECK (id <> ''), entry TEXT NOT NULL) STRICT;
CREATE TABLE findings (
  id TEXT NOT NULL, decision TEXT NOT NULL REFERENCES decisions (id) ON DELETE CASCADE,
  PRIMARY KEY (decision, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX findings_id ON findings (id, decision);
