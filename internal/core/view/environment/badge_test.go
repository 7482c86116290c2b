package environment_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
)

// parsed are the elements of a badge, and its texts.
func parsed(t *testing.T, badge []byte) (elements map[string]bool, texts []string) {
	t.Helper()
	elements = map[string]bool{}
	for d := xml.NewDecoder(strings.NewReader(string(badge))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements, texts
		}
		if err != nil {
			t.Fatalf("%v in %s", err, badge)
		}
		switch part := token.(type) {
		case xml.StartElement:
			elements[part.Name.Local] = true
			for _, a := range part.Attr {
				elements[part.Name.Local+" "+a.Name.Local] = true
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(part)); text != "" {
				texts = append(texts, text)
			}
		}
	}
}

func TestBadge(t *testing.T) {
	const faint = `opacity=".45"` // of a whole icon on a page
	looks := map[string]verdict.State{}
	for s, want := range map[verdict.State]string{
		verdict.Passed: "passed", verdict.Failed: "failed", verdict.Running: "running", verdict.None: "no result", verdict.Stale: "stale",
		verdict.Withdrawn: "withdrawn", "of a later version": "no result",
	} {
		badge := environment.Badge("staging", s)
		_, texts := parsed(t, badge)
		if diff := cmp.Diff([]string{"staging: " + want, "staging", want}, texts); diff != "" {
			t.Errorf("%s: %s", s, diff)
		}
		if strings.Contains(string(badge), faint) {
			t.Errorf("%s: all of the icon is faint on its ground: %s", s, badge)
		}
		looks[environment.VerdictLookOf(s).Icon] = s
	}
	if len(looks) != 6 {
		t.Errorf("%d shapes for 6 states", len(looks))
	}
}

// TestHostileBadge: a name adds no element and no attribute, and a badge stays small.
func TestHostileBadge(t *testing.T) {
	known, _ := parsed(t, environment.Badge("staging", verdict.Passed))
	for _, name := range []string{
		`"><script>alert(1)</script>`, `</title><script>alert(1)</script>`, `' onload='alert(1)`, "]]><x/>", "\x00\x1b[31m\u202e", "&amp;lt;",
		strings.Repeat("W", 5000), strings.Repeat("\U0001f600", 100), "",
	} {
		badge := environment.Badge(name, verdict.Passed)
		elements, _ := parsed(t, badge)
		for e := range elements {
			if !known[e] {
				t.Errorf("%.40q adds %s", name, e)
			}
		}
		if len(badge) > 4<<10 {
			t.Errorf("%.40q makes %d bytes", name, len(badge))
		}
	}
}

func TestBadgeCommits(t *testing.T) {
	e := staging(v1alpha1.Deployed{Repository: "acme/pay", SHA: otherSHA}, v1alpha1.Deployed{Repository: "acme/shop", SHA: sha[:8]})
	tested := ended("a", "smoke", 10, passed, testOf("Acme/Shop", sha))
	preview := ended("b", "smoke", 20, passed, testOf("acme/shop", "feature1"), of("smoke", "staging", "feature/x"))
	older := ended("c", "smoke", 30, passed, testOf("acme/shop", "feature0"), of("smoke", "staging", "feature/x"))
	rerun := ended("d", "smoke", 5, passed, testOf("acme/shop", "feature0"), of("smoke", "staging", "feature/x"), notNewer)
	pay := ended("e", "smoke", 20, passed, testOf("acme/pay", "pay1"), of("smoke", "staging", "feature/x"))
	runs := []*v1alpha1.Suite{rerun, tested, preview, pay, older}
	for name, tc := range map[string]struct {
		reason string
		query  environment.BadgeQuery
		want   []commit.Commit
	}{
		"a commit":            {"It need not be there.", environment.BadgeQuery{SHA: "v1", Branch: "x"}, []commit.Commit{commit.New("", "", "v1")}},
		"of a repository":     {"", environment.BadgeQuery{SHA: "v1", Repository: "acme/pay"}, []commit.Commit{commit.New("acme/pay", "", "v1")}},
		"its repository":      {"A workload may have only a part of the commit.", environment.BadgeQuery{Repository: "ACME/shop"}, []commit.Commit{commit.New("acme/shop", "", sha)}},
		"another repository":  {"It has none.", environment.BadgeQuery{Repository: "acme/docs"}, nil},
		"a branch":            {"Only deployments count, and the newest of each repository.", environment.BadgeQuery{Branch: "feature/x"}, []commit.Commit{commit.New("acme/pay", "", "pay1"), commit.New("acme/shop", "", "feature1")}},
		"of both":             {"", environment.BadgeQuery{Branch: "feature/x", Repository: "acme/shop"}, []commit.Commit{commit.New("acme/shop", "", "feature1")}},
		"a branch of no runs": {"", environment.BadgeQuery{Branch: "feature/y"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, environment.BadgeCommits(e, runs, tc.query)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
	if got := environment.BadgeCommits(staging(), nil, environment.BadgeQuery{}); len(got) != 0 {
		t.Errorf("nothing is deployed: %v", got)
	}
}
