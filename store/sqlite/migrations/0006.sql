CREATE TABLE ledger (
  arrival INTEGER PRIMARY KEY, family TEXT NOT NULL CHECK (family <> ''), seq INTEGER NOT NULL CHECK (seq > 0),
  hash BLOB NOT NULL CHECK (length(hash) = 32), entry BLOB NOT NULL,
  UNIQUE (family, seq)
) STRICT;
CREATE TABLE rubrics (hash BLOB PRIMARY KEY CHECK (length(hash) = 32), canonical BLOB NOT NULL) STRICT, WITHOUT ROWID;
