CREATE TABLE hits (
  fingerprint BLOB PRIMARY KEY CHECK (length(fingerprint) = 16), n INTEGER NOT NULL, last INTEGER NOT NULL, seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX hits_seq ON hits (seq);
