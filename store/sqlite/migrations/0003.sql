CREATE TABLE pins (
  server BLOB NOT NULL CHECK (length(server) = 32), tool BLOB NOT NULL CHECK (length(tool) = 32),
  looks BLOB NOT NULL CHECK (length(looks) = 32),
  PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;
