CREATE TABLE said (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, caller BLOB NOT NULL CHECK (length(caller) = 32), sealed BLOB NOT NULL
) STRICT;
CREATE INDEX said_caller ON said (caller, seq);
