package effect

// Profile is what a person said that a tool does which no pack describes. The zero
// Profile takes it to read, and its results for strangers' words.
type Profile struct {
	// Effect is what its calls do, at most.
	Effect Effect `json:"effect"`
	// Own: its results hold the user's own records and no words of strangers.
	Own bool `json:"own,omitempty"`
	// Open: an argument says what to open: an address, a package, a repository.
	Open bool `json:"open,omitempty"`
	// Ask: a person is asked about each call.
	Ask bool `json:"ask,omitempty"`
}

// MarshalText implements encoding.TextMarshaler.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It fails for what Parse does.
func (e *Effect) UnmarshalText(b []byte) (err error) {
	*e, err = Parse(string(b))
	return err
}

// String says in words what the profile means.
func (p Profile) String() string {
	out := "reads"
	switch {
	case p.Ask:
		return "is asked about each time"
	case p.Effect.Acts():
		out = does[p.Effect]
	}
	if p.Open {
		out += " where its arguments say"
	}
	if p.Own {
		return out + ", and returns your own records"
	}
	return out + ", and returns what others may have written"
}

// does are the effects as what a tool does.
var does = [count]string{"reads", "changes your records", "runs code", "makes something happen later", "tells or asks somebody outside", "spends money", "deletes for good", "changes Margay itself"}
