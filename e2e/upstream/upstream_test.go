package upstream

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func ask(t *testing.T, url, body string) string {
	t.Helper()
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// said puts the content of a stream's choice together.
func said(t *testing.T, events string, choice int) string {
	t.Helper()
	text := ""
	for _, e := range strings.Split(events, "\n\n") {
		data, ok := strings.CutPrefix(e, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Index int
				Delta struct{ Content string }
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			if c.Index == choice {
				text += c.Delta.Content
			}
		}
	}
	return text
}

func TestSaysWhatItIsTold(t *testing.T) {
	up := New()
	server := httptest.NewServer(up)
	defer server.Close()
	const first, second = "Grüße, 日本語: a \"b\" \\ c.", "another\ntext"
	up.Script("m", Reply{Choices: []Choice{{Text: first}, {Text: second}}})

	body := `{"model":"m","n":2,"stream":true,"messages":[{"role":"user","content":"x"}]}`
	events := ask(t, server.URL, body)
	if said(t, events, 0) != first || said(t, events, 1) != second {
		t.Error("the stream is not what the script says")
	}
	if again := ask(t, server.URL, body); again != events {
		t.Error("the same request was answered with other bytes")
	}
	got := up.Exchanges()
	if len(got) != 2 || string(got[0].Body) != body || string(got[0].Sent) != events {
		t.Error("the record is not what went over the wire")
	}
	if len(up.Exchanges()) != 0 {
		t.Error("the record was not taken")
	}
}

func TestWithoutScript(t *testing.T) {
	server := httptest.NewServer(New())
	defer server.Close()
	for content, want := range map[string]string{"hello": "hello", "please say: one two": "one two"} {
		events := ask(t, server.URL, `{"model":"any","stream":true,"messages":[{"role":"user","content":"`+content+`"}]}`)
		if got := said(t, events, 0); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

func TestTurns(t *testing.T) {
	up := New()
	server := httptest.NewServer(up)
	defer server.Close()
	up.Script("m", Reply{Choices: []Choice{{Text: "one"}}}, Reply{Choices: []Choice{{Text: "two"}}})
	for messages, want := range map[string]string{
		`{"role":"user","content":"x"}`:                                                                       "one",
		`{"role":"user","content":"x"},{"role":"assistant","content":"y"}`:                                    "two",
		`{"role":"user","content":"x"},{"role":"assistant","content":"y"},{"role":"assistant","content":"z"}`: "two",
	} {
		if got := said(t, ask(t, server.URL, `{"model":"m","stream":true,"messages":[`+messages+`]}`), 0); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

func TestPieces(t *testing.T) {
	const text = "naïve 日本語 🦊 and a longer tail of plain words"
	got := pieces(text)
	if strings.Join(got, "") != text || len(got) < 8 {
		t.Errorf("%d pieces that are not the text", len(got))
	}
}
