CREATE TABLE questions (
  id TEXT PRIMARY KEY CHECK (id <> ''), trajectory TEXT NOT NULL,
  digest BLOB NOT NULL CHECK (length(digest) = 32), granted BLOB NOT NULL CHECK (length(granted) = 32),
  sealed BLOB NOT NULL CHECK (length(sealed) > 0), asked INTEGER NOT NULL, expires INTEGER NOT NULL,
  answer TEXT NOT NULL CHECK (answer IN ('', 'once', 'trajectory', 'deny')), answered_by TEXT NOT NULL, answered INTEGER,
  used INTEGER NOT NULL CHECK (used IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX questions_granted ON questions (trajectory, id) WHERE answer = 'trajectory';
