INSERT INTO meta VALUES ('events', 0), ('event_bytes', 0);
CREATE TABLE events (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL, trajectory TEXT NOT NULL, at INTEGER NOT NULL,
  kind TEXT NOT NULL, verb TEXT NOT NULL, sink TEXT NOT NULL, outcome TEXT NOT NULL,
  size INTEGER NOT NULL, payload TEXT NOT NULL, detail TEXT
) STRICT;
CREATE INDEX events_trajectory ON events (trajectory, seq);
CREATE INDEX events_at ON events (at);
CREATE TABLE trajectories (
  id TEXT PRIMARY KEY CHECK (id <> ''), first INTEGER NOT NULL, last INTEGER NOT NULL, last_seq INTEGER NOT NULL,
  events INTEGER NOT NULL, answers INTEGER NOT NULL, findings INTEGER NOT NULL, denied INTEGER NOT NULL, asked INTEGER NOT NULL,
  edited INTEGER NOT NULL, sink TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX trajectories_last ON trajectories (last_seq);
CREATE TABLE tallies (
  minute INTEGER NOT NULL, verb TEXT NOT NULL, outcome TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (minute, verb, outcome)
) STRICT, WITHOUT ROWID;
