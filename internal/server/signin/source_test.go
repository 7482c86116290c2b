package signin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/postflight-dev/postflight/test/poll"
)

const mapping = "groups: [{group: devs, team: shop}]\n"

// teamsOf are the teams of a member of devs.
func teamsOf(s *Source) (names []string) {
	for _, g := range s.setting().teams(Person{Groups: []string{"devs"}}) {
		names = append(names, g.Team)
	}
	return names
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newSource(t *testing.T, path string) *Source {
	t.Helper()
	s, err := NewSource(path, func(c *Config) error {
		if c.Proxy != nil {
			return errors.New("no proxies here")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSourceFollowsTheFile(t *testing.T) {
	cases := map[string]struct {
		reason  string
		change  func(t *testing.T, path string)
		changed bool
		valid   bool
		teams   int
	}{
		"Nothing":         {"It is the same.", func(*testing.T, string) {}, false, true, 1},
		"A group is lost": {"That is what it is read for.", func(t *testing.T, path string) { write(t, path, "groups: []") }, true, true, 0},
		"A group is won":  {"So is that.", func(t *testing.T, path string) { write(t, path, mapping+"  # and a comment\n") }, true, true, 1},
		"It is broken":    {"What it said before counts.", func(t *testing.T, path string) { write(t, path, "groups: [{") }, false, false, 1},
		"It is refused": {"What it said before counts.", func(t *testing.T, path string) {
			write(t, path, "proxy: {userHeader: A, groupsHeader: B, from: [10.0.0.0/8]}")
		}, false, false, 1},
		"It is empty": {"Somebody is about to write it.", func(t *testing.T, path string) { write(t, path, "") }, false, false, 1},
		"It is gone":  {"So it is while it is replaced.", func(t *testing.T, path string) { _ = os.Remove(path) }, false, false, 1},
		"A ConfigMap changes": {"A link leads to another folder.", func(t *testing.T, path string) {
			next := t.TempDir()
			write(t, filepath.Join(next, "sign-in.yaml"), "groups: []")
			link := path + ".link"
			if err := errors.Join(os.Symlink(filepath.Join(next, "sign-in.yaml"), link), os.Rename(link, path)); err != nil {
				t.Fatal(err)
			}
		}, true, true, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sign-in.yaml")
			write(t, path, mapping)
			s := newSource(t, path)
			tc.change(t, path)
			changed, err := s.reload()
			if changed != tc.changed || s.Valid() != tc.valid || (err == nil) != tc.valid || len(teamsOf(s)) != tc.teams {
				t.Errorf("%s: changed %v, valid %v, %v, teams %v", tc.reason, changed, s.Valid(), err, teamsOf(s))
			}
			if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, []byte("groups: [{group: devs, team: a}, {group: devs, team: b}]"),
				0o600)); err != nil {
				t.Fatal(err)
			}
			if changed, err := s.reload(); !changed || err != nil || len(teamsOf(s)) != 2 || !s.Valid() {
				t.Errorf("%s: afterwards changed %v, %v, teams %v", tc.reason, changed, err, teamsOf(s))
			}
		})
	}
}

// TestSourceKeepsTheProvider: what the client of a provider has learned outlives changes that do not concern it.
func TestSourceKeepsTheProvider(t *testing.T) {
	dir := t.TempDir()
	path, secret := filepath.Join(dir, "sign-in.yaml"), filepath.Join(dir, "secret")
	const provider = "oidc: {issuer: https://dex.example.com, clientID: x, clientSecretFile: "
	write(t, secret, "one\n")
	write(t, path, provider+secret+"}\n")
	s := newSource(t, path)
	before := s.setting().Provider
	write(t, path, provider+secret+"}\n"+mapping)
	if changed, err := s.reload(); !changed || err != nil || s.setting().Provider != before {
		t.Errorf("another mapping: changed %v, %v, the same client: %v", changed, err, s.setting().Provider == before)
	}
	write(t, secret, "two\n")
	if changed, err := s.reload(); !changed || err != nil || s.setting().Provider == before || s.setting().Provider.Config.secret != "two" {
		t.Errorf("another secret: changed %v, %v, the same client: %v", changed, err, s.setting().Provider == before)
	}
	write(t, path, mapping)
	if changed, err := s.reload(); !changed || err != nil || s.setting().Provider != nil {
		t.Errorf("no provider: changed %v, %v, %v", changed, err, s.setting().Provider)
	}
}

// TestSourceIsRead: a change counts without being asked for.
func TestSourceIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sign-in.yaml")
	write(t, path, mapping)
	s := newSource(t, path)
	said := make(chan string, 100)
	s.Log = funcr.New(func(_, line string) { said <- line }, funcr.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Start(ctx) }()
	write(t, path, "groups: [{")
	if line := <-said; !strings.Contains(line, "cannot be used") || !strings.Contains(line, path) {
		t.Errorf("the log of a broken file: %s", line)
	}
	write(t, path, "groups: []")
	poll.True(t, "the group does not count any more", func() bool { return len(teamsOf(s)) == 0 })
	if line := <-said; !strings.Contains(line, "has changed") {
		t.Errorf("the log of a good file: %s, want one line for each change", line)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
