//go:build unix

package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// claudeAgent asks as Claude Code does: where ANTHROPIC_BASE_URL says.
func claudeAgent() {
	fmt.Println("arguments", os.Args[1:])
	send(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", "", map[string]any{
		"model": "claude-opus-4-7", "max_tokens": 10, "messages": []any{map[string]any{"role": "user", "content": os.Args[len(os.Args)-1]}},
	})
}

// codexAgent asks as Codex does: where its flags say, with the headers that
// they name.
func codexAgent() {
	base, header := "", ""
	rest := os.Args[1:]
	for len(rest) > 1 && rest[0] == "-c" {
		key, value, _ := strings.Cut(rest[1], "=")
		switch value = strings.Trim(value, `"`); {
		case strings.HasSuffix(key, ".base_url"):
			base = value
		case strings.HasSuffix(key, ".env_http_headers.Margay-Token"):
			header = os.Getenv(value)
		}
		rest = rest[2:]
	}
	fmt.Println("arguments", rest)
	if rest[0] == "stranger" {
		header = "no"
	}
	send(base+"/responses", header, map[string]any{"model": "gpt-5.2-codex", "input": rest[len(rest)-1]})
}

func send(url, token string, body any) {
	b, _ := json.Marshal(body)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(b))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	if token != "" {
		req.Header.Del("Anthropic-Version")
		req.Header.Set("Margay-Token", token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	fmt.Println("status", resp.StatusCode)
}
