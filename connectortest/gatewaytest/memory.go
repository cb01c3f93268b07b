package gatewaytest

import (
	"crypto/ed25519"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

const clients = `
version: 1
rubric: clients
revision: 1
title: Clients (for tests)
expires: 2040-01-01
signature: {actions: [serve-clients]}
fields:
  legal-name:
    about: the name of a client
    population:
      split: name
      product:
        - part: given
          table: {key: initial, columns: [initial, members], rows: [["*", 50000]]}
        - part: family
          table: {key: initial, columns: [initial, members], rows: [["*", 200000]]}
coverage:
  - {id: who-path, field: legal-name, path: '(^|\.)who$'}
  - {id: client, field: legal-name, text: '\bMaria Silva\b', only: true}
residual:
  semi-trusted: ['^content$', '^tool-arguments$', '^notes$', '^other$']
necessity:
  legal-name: {required-service: required}
operators:
  legal-name: {required-service: [identity], semi-trusted: [pseudonym]}
limits: {budget: 120, caps: {required-service: 80, semi-trusted: 4, adversarial: 1}}
utility:
  required-service: {legal-name: identity}
samples:
  - {text: "Maria Silva", find: {legal-name: Maria Silva}}
  - {text: "an aisle seat", find: {}}
`

// Remembering returns a mediator of connectortest.Agent's, and its store.
func Remembering(t testing.TB) (*mediator.Engine, *memory.Store) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	r, err := rubric.Parse("clients.yaml", []byte(clients))
	must(err)
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public := ed25519.PublicKey(key[ed25519.SeedSize:])
	reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{public}})
	_, err = reg.Add("clients", rubric.Sign(r, key))
	must(err)
	store := memory.New()
	book, err := ledger.NewBook(ledger.Config{Store: store, Key: key})
	must(err)
	for _, b := range [][]byte{r.Canonical(), terms.Fallback()} {
		_, err := book.KeepRubric(t.Context(), b)
		must(err)
	}
	v, err := declassify.New(declassify.Config{
		Resolve: func(q rubric.Query) (declassify.Rules, error) { return reg.Resolve(q) },
		Ledger:  book, History: store, Defender: rules.Defender{}, Key: [32]byte{1},
	})
	must(err)
	tool := func(name string, class flow.Class, ch flow.Channel, args ...schema.Arg) schema.Tool {
		return schema.Tool{Name: name, Action: "serve-clients", Sink: name, Class: class, Channel: ch, Args: args}
	}
	tools := map[string]schema.Tool{
		"note": tool("note", flow.SemiTrusted, flow.ChannelMemory, schema.Arg{Path: "notes", Free: true}),
		"book": tool("book", flow.RequiredService, flow.ChannelTool, schema.Arg{Path: "who", Field: "legal-name"}),
	}
	set, err := recognise.Default()
	must(err)
	e, err := mediator.New(mediator.Config{
		Config: session.Config{
			Rules: set, Keys: secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}, Store: store, Values: store,
		},
		Declassify: &mediator.Declassify{
			Verifier: v, Memories: []string{"note"},
			Tool: func(call flow.ToolCall) (schema.Tool, bool) { t, ok := tools[call.Name]; return t, ok },
			Model: func(flow.Sink) (schema.Tool, bool) {
				return tool("model", flow.SemiTrusted, flow.ChannelModel, schema.Arg{Path: "other"}, schema.Arg{Path: "*", Free: true}), true
			},
			Trusted: func(name string) bool { return name == "client" },
		},
	})
	must(err)
	return e, store
}

// Entries returns how many entries of a channel a store's ledger has.
func Entries(t testing.TB, store *memory.Store, channel string) (n int) {
	t.Helper()
	for h, err := range store.Heads(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all, err := store.Entries(t.Context(), h.Family, 0, int(h.Seq)) //nolint:gosec // few
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			e, err := charge.Decode(all[i].Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if string(e.Channel) == channel {
				n++
			}
		}
	}
	return n
}
