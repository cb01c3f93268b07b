// Package places keeps what is known of the folders, files and tools of a machine:
// which folders the user trusts, which files strangers had a part in, and what he
// said that tools do. Labels follow
// files by it: what an agent reads of such a file is a stranger's, in whatever
// session and process, until the user endorses the file.
//
// Paths are absolute and clean, and compared as they are written. Links are not
// followed.
package places

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/workspace"
)

// Store keeps rows by their ids. It is bounded, and refuses more. All methods are
// safe for concurrent use, and what they change is durable when they return.
type Store interface {
	// PutPlaces adds rows, all or none. One whose id is there stays as it is.
	PutPlaces(ctx context.Context, rows map[[32]byte][]byte) error
	// DropPlaces removes rows; an id that is not there does no harm.
	DropPlaces(ctx context.Context, ids ...[32]byte) error
	// Places returns what was added after a version, or all where something was
	// removed since, and the version that this is; 0 is before all.
	Places(ctx context.Context, after int64) (rows map[[32]byte][]byte, all bool, version int64, err error)
}

// Place is a folder that the user trusts, a file or folder that strangers had a part
// in, or a tool of which he said what it does.
type Place struct {
	Path    string    `json:"path,omitempty"`
	Trusted bool      `json:"trusted"`
	Tool    *Tool     `json:"tool,omitempty"`
	At      time.Time `json:"at"`
}

// Config is what a Book needs.
type Config struct {
	Store Store
	Keys  *secret.Keys
	// Dir is where an agent was started, Home the user's home folder; empty
	// where they are not known.
	Dir, Home string
	// Roots are folders that are trusted besides those of the store, and State
	// Margay's own folders and files.
	Roots, State []string
	// Project is the root of the project that a file or folder is in, where it is sure
	// that the user has it for longer than an agent may have; else empty. Nil: it never
	// is.
	Project func(path string) string
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Book is what is known of a machine's places. It is safe for concurrent use, and
// sees what other processes change.
type Book struct {
	cfg Config

	mu       sync.RWMutex
	version  int64
	approved int64 // version at which a person let tainted code run; -1 for none
	rows     map[[32]byte]Place
	tools    map[toolKey]effect.Profile
	tainted  map[string]bool // files and folders that strangers had a part in
	above    map[string]int  // how many of them are below a folder
	scratch  map[string]bool // scratch files of calls' own; true for built programs
	places   *workspace.Workspace
}

// New returns a book that has read nothing yet.
func New(cfg Config) *Book {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	b := &Book{cfg: cfg, approved: -1}
	b.forget()
	b.rebuild()
	return b
}

func (b *Book) forget() {
	b.version, b.rows, b.tools, b.tainted, b.above = 0, map[[32]byte]Place{}, map[toolKey]effect.Profile{}, map[string]bool{}, map[string]int{}
}

// rebuild makes the zones anew.
func (b *Book) rebuild() {
	roots := slices.Clone(b.cfg.Roots)
	for _, p := range b.rows {
		if p.Trusted {
			roots = append(roots, p.Path)
		}
	}
	b.places = workspace.New(workspace.Config{Roots: roots, Home: b.cfg.Home, State: b.cfg.State})
}

// id is the keyed hash of a place, so that a store tells nobody its name.
func (b *Book) id(p *Place) (out [32]byte) {
	h := hmac.New(sha256.New, b.cfg.Keys.Pseudonym[:])
	if p.Tool != nil {
		fmt.Fprintf(h, "margay tool v1\x00%s\x00%s", p.Tool.Name, p.Tool.Definition)
		h.Sum(out[:0])
		return out
	}
	fmt.Fprintf(h, "margay place v1\x00%v\x00%s", p.Trusted, p.Path)
	h.Sum(out[:0])
	return out
}

func sealContext(id [32]byte) string { return "margay place v1/" + hex.EncodeToString(id[:]) }

// refresh reads what is new in the store.
func (b *Book) refresh(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	rows, all, version, err := b.cfg.Store.Places(ctx, b.version)
	if err != nil {
		return fmt.Errorf("places: %w", err)
	}
	if version == b.version {
		return nil
	}
	read := make(map[[32]byte]Place, len(rows))
	for id, sealed := range rows {
		text, err := b.cfg.Keys.OpenValue(sealed, sealContext(id))
		var p Place
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			return fmt.Errorf("places: a row can't be read: %w", err)
		}
		read[id] = p
	}
	if all {
		b.forget()
	}
	for id, p := range read {
		if _, ok := b.rows[id]; ok {
			continue
		}
		b.rows[id] = p
		if p.Tool != nil {
			b.tools[p.Tool.key()] = p.Tool.Profile
		}
		if p.Trusted || p.Tool != nil {
			continue
		}
		low := strings.ToLower(p.Path) // some file systems do not tell cases apart
		b.tainted[low] = true
		for dir := range parents(low) {
			b.above[dir]++
		}
	}
	b.version = version
	b.rebuild()
	return nil
}

// parents yields the folders above a path, without the root.
func parents(p string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for dir := path.Dir(p); len(dir) > 1 && yield(dir); dir = path.Dir(dir) {
		}
	}
}

// Now implements step.Machine. It fails where the store can't be read.
func (b *Book) Now(ctx context.Context, dir string) (*act.Machine, error) {
	if err := b.refresh(ctx); err != nil {
		return nil, err
	}
	if dir == "" {
		dir = b.cfg.Dir
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return &act.Machine{
		Dir: dir, Home: b.cfg.Home, Places: b.places, Tainted: b.Tainted, Holds: b.Holds, Version: b.version,
		Mine: b.mine, Built: b.built, MayRun: func() bool { return b.mayRun(context.WithoutCancel(ctx)) }, Profile: b.Profile, Project: b.project,
	}, nil
}

func (b *Book) project(p string) string {
	if b.cfg.Project == nil {
		return ""
	}
	root := b.cfg.Project(p)
	if !b.MayOffer(root) {
		return ""
	}
	return root
}

// MayOffer reports whether a person may be offered to trust a folder, by its path and
// by what is known of the files in it.
func (b *Book) MayOffer(dir string) bool {
	b.mu.RLock()
	on := b.places
	b.mu.RUnlock()
	return on.MayOffer(dir) && !b.Tainted(dir) && !b.Holds(dir)
}

// mayRun reports whether a person let code run as the files are now.
func (b *Book) mayRun(ctx context.Context) bool {
	if b.refresh(ctx) != nil {
		return false
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.approved == b.version
}

// Approve implements step.Machine. It holds for this process.
func (b *Book) Approve(version int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.approved = version
}

// maxScratch bounds the scratch files that are known.
const maxScratch = 10_000

// Wrote implements step.Machine. It holds for this process: after it, nobody knows
// who wrote a scratch file.
func (b *Book) Wrote(s act.Scratch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.scratch == nil || s.All || len(b.scratch) > maxScratch {
		b.scratch = map[string]bool{}
	}
	for _, p := range s.Whole {
		b.scratch[p] = slices.Contains(s.Built, p)
	}
	for _, p := range s.Lost {
		delete(b.scratch, p)
	}
}

// mine reports whether a scratch file was written by calls in which only the
// workspace had a part.
func (b *Book) mine(p string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	_, ok := b.scratch[p]
	return ok
}

// built reports whether it is a program that such a call built.
func (b *Book) built(p string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.scratch[p]
}

// Holds reports whether strangers had a part in a file or folder below a folder; of
// "", in any.
func (b *Book) Holds(dir string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.above[strings.ToLower(dir)] > 0 || dir == "" && len(b.tainted) > 0
}

// Tainted reports whether strangers had a part in a file, or in a folder that it is
// in.
func (b *Book) Tainted(p string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if p = strings.ToLower(p); b.tainted[p] {
		return true
	}
	for dir := range parents(p) {
		if b.tainted[dir] {
			return true
		}
	}
	return false
}

// Taint implements step.Machine.
func (b *Book) Taint(ctx context.Context, files []string) error {
	return b.put(ctx, false, files)
}

// Trust makes folders workspaces.
func (b *Book) Trust(ctx context.Context, dirs ...string) error {
	return b.put(ctx, true, dirs)
}

// ErrPath says that a path is not absolute and clean, or longer than 4,096 bytes.
var ErrPath = errors.New("places: not an absolute, clean path")

func (b *Book) put(ctx context.Context, trusted bool, paths []string) error {
	if err := b.refresh(ctx); err != nil {
		return err
	}
	var places []Place
	for _, full := range paths {
		if !path.IsAbs(full) || path.Clean(full) != full || full == "/" || len(full) > 4096 {
			return ErrPath
		}
		p := Place{Path: full, Trusted: trusted}
		b.mu.RLock()
		_, ok := b.rows[b.id(&p)]
		b.mu.RUnlock()
		if !ok || !trusted {
			places = append(places, p)
		}
	}
	if len(places) == 0 && trusted {
		return nil
	}
	return b.add(ctx, places...)
}

// add keeps places from now on.
func (b *Book) add(ctx context.Context, places ...Place) error {
	rows := make(map[[32]byte][]byte, len(places))
	for _, p := range places {
		p.At = b.cfg.Now().UTC().Truncate(time.Millisecond)
		id := b.id(&p)
		text, err := json.Marshal(&p)
		if err == nil {
			rows[id], err = b.cfg.Keys.SealValue(text, sealContext(id))
		}
		if err != nil {
			return fmt.Errorf("places: %w", err)
		}
	}
	if err := b.cfg.Store.PutPlaces(ctx, rows); err != nil {
		return fmt.Errorf("places: %w", err)
	}
	return b.refresh(ctx)
}

// Distrust makes a folder that Trust named a stranger's again, and reports whether
// it was one.
func (b *Book) Distrust(ctx context.Context, dir string) (bool, error) {
	gone, err := b.drop(ctx, func(p Place) bool { return p.Trusted && p.Path == dir })
	return len(gone) > 0, err
}

// Below reports whether a path is a folder or below it.
func Below(full, dir string) bool {
	return full == dir || strings.HasPrefix(full, strings.TrimSuffix(dir, "/")+"/")
}

// Endorse takes a file, or all files below a folder, for the user's own, and
// returns those that strangers had a part in.
func (b *Book) Endorse(ctx context.Context, full string) ([]string, error) {
	return b.drop(ctx, func(p Place) bool { return p.File() && Below(p.Path, full) })
}

func (b *Book) drop(ctx context.Context, which func(Place) bool) ([]string, error) {
	if err := b.refresh(ctx); err != nil {
		return nil, err
	}
	var ids [][32]byte
	var gone []string
	b.mu.RLock()
	for id, p := range b.rows {
		if which(p) {
			ids, gone = append(ids, id), append(gone, p.name())
		}
	}
	b.mu.RUnlock()
	if len(ids) == 0 {
		return nil, nil
	}
	if err := b.cfg.Store.DropPlaces(ctx, ids...); err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	slices.Sort(gone)
	return gone, b.refresh(ctx)
}

// All are the places of the store, by their paths.
func (b *Book) All(ctx context.Context) ([]Place, error) {
	if err := b.refresh(ctx); err != nil {
		return nil, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.SortedFunc(maps.Values(b.rows), func(x, y Place) int { return strings.Compare(x.name(), y.name()) }), nil
}

// Tool is a tool that no pack describes, with what a person said that it does.
type Tool struct {
	// Name is as agents see it: mcp__notes__list of a server, or that of an agent's own.
	Name string `json:"name"`
	// Definition is a keyed hash of what the tool said of itself then; empty for a
	// server's, whose definitions are pinned.
	Definition string `json:"definition,omitempty"`
	effect.Profile
}

type toolKey struct{ name, definition string }

func (t *Tool) key() toolKey { return toolKey{t.Name, t.Definition} }

// maxTool bounds a tool's name, in bytes.
const maxTool = 512

// ErrTool says that a tool has no name, or one of more than 512 bytes.
var ErrTool = errors.New("places: not a tool's name")

// Profile is what a person said of a tool, last.
func (b *Book) Profile(tool, definition string) (effect.Profile, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	p, ok := b.tools[toolKey{tool, definition}]
	return p, ok
}

// Say remembers what a person says that a tool does, instead of what was said of it
// before.
func (b *Book) Say(ctx context.Context, t Tool) error {
	if t.Name == "" || len(t.Name) > maxTool {
		return ErrTool
	}
	if _, err := b.drop(ctx, func(p Place) bool { return p.Tool != nil && p.Tool.key() == t.key() }); err != nil {
		return err
	}
	return b.add(ctx, Place{Tool: &t})
}

// Unsay forgets what was said of a tool, or of all tools of a server, and reports
// whether something was.
func (b *Book) Unsay(ctx context.Context, name string) (bool, error) {
	gone, err := b.drop(ctx, func(p Place) bool {
		return p.Tool != nil && (p.Tool.Name == name || strings.HasPrefix(p.Tool.Name, name+"__") || strings.HasPrefix(p.Tool.Name, "mcp__"+name+"__"))
	})
	return len(gone) > 0, err
}

// File reports whether a place is a file or folder that strangers had a part in.
func (p *Place) File() bool { return !p.Trusted && p.Tool == nil }

func (p *Place) name() string {
	if p.Tool != nil {
		return p.Tool.Name
	}
	return p.Path
}
