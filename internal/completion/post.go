package completion

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
)

// Post sends a JSON document to a path beside the chat's, and decodes the
// answer into v, as JSON does. It is for models that answer more than text.
func (c *Client) Post(ctx context.Context, path string, body []byte, v any) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	raw, err := c.send(ctx, c.url.JoinPath("../..", path), body)
	if err != nil {
		return err
	}
	return decode(raw, v)
}

// send makes one request, and returns at most a byte more than an answer may have.
func (c *Client) send(ctx context.Context, u *url.URL, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Key)
	}
	resp, err := c.transport.RoundTrip(req) // a transport, unlike a client, follows nothing and keeps no cookies
	if err != nil {
		return nil, plainly(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return nil, errRedirect
	}
	if resp.StatusCode != http.StatusOK {
		return nil, statusError(resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	if err != nil {
		return nil, plainly(ctx, err)
	}
	return raw, nil
}
