package app

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/bcrypt"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
)

func (a *app) consoleCommand() *cobra.Command {
	var addr string
	c := &cobra.Command{
		Use: "console", Short: "Print an address that opens the console once", Args: cobra.NoArgs,
		Long: `Print an address that opens the console of a running margay serve, or margay run
--console, for one session. The address is valid for ten minutes. docs/console.md
says how teams log in.`,
		Example: "  margay console\n  margay console --listen 127.0.0.1:7900",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithState(cmd.Context(), func(c *config.Config, st *state.State) error {
				if !c.Console.Enabled {
					return problem.Usage("set console.enabled: true and start margay serve again", "the console is off")
				}
				at := cmp.Or(addr, c.Listen)
				conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(cmd.Context(), "tcp", at)
				if err != nil {
					return problem.Failure("margay serve starts one; --listen names the address of another", "nothing listens on %s", at)
				}
				_ = conn.Close()
				url := serve.ConsoleURL(at, &st.Keys)
				if !isConsole(cmd.Context(), url) {
					return problem.Failure("--listen names the address of another; console.enabled: true in its configuration gives it a console", "what listens on %s has no console of Margay's", at)
				}
				return a.Print(map[string]string{"url": url}, func(w io.Writer) { fmt.Fprintln(w, url) })
			})
		},
	}
	c.Flags().StringVar(&addr, "listen", "", "`address` that it listens on (default that of the configuration)")
	c.AddCommand(&cobra.Command{
		Use: "password", Short: "Make the hash of a password, for console.users", Args: cobra.NoArgs,
		Long:    "Make the hash of a password, for console.users in the configuration. The password is read from the terminal, or as the first line of standard input.",
		Example: "  margay console password",
		RunE: func(*cobra.Command, []string) error {
			password, err := a.password()
			if err != nil {
				return err
			}
			const least = 10
			if len(password) < least || len(password) > 72 {
				return problem.Usage("a sentence makes a good one", "a password has %d to 72 bytes", least)
			}
			hash, err := bcrypt.GenerateFromPassword([]byte(password), 12)
			if err != nil {
				return problem.Failure("try another one", "%w", err)
			}
			return a.Print(map[string]string{"hash": string(hash)}, func(w io.Writer) { cli.Fprintf(w, "%s\n", hash) })
		},
	})
	return c
}

// isConsole reports whether a console answers at an address. Nobody else's page
// is to be opened with a token.
func isConsole(ctx context.Context, address string) bool {
	page, _, _ := strings.Cut(address, "#")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return false
	}
	client := http.Client{
		Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}, // no proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	return err == nil && resp.StatusCode == http.StatusOK && bytes.Contains(b, []byte("· Margay</title>"))
}

// password reads one without showing it.
func (a *app) password() (string, error) {
	line, typed, err := a.ReadHidden("password: ")
	if !typed {
		line, err = bufio.NewReader(io.LimitReader(a.In, 1<<12)).ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", problem.Failure("pass it on standard input", "the password can't be read: %w", err)
	}
	return line, nil
}
