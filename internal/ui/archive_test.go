package ui_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/ui"
)

// archive has one run on each of two pages.
type archive struct{}

func (archive) Run(_ context.Context, _ *v1alpha1.Team, id string) (*v1alpha1.Suite, error) {
	if id != "archived-1" {
		return nil, nil
	}
	return archived(id), nil
}

func (archive) Runs(_ context.Context, _ *v1alpha1.Team, after string) ([]*v1alpha1.Suite, string, error) {
	if after == "" {
		return []*v1alpha1.Suite{archived("archived-1")}, "more", nil
	}
	return []*v1alpha1.Suite{archived("archived-2")}, "", nil
}

func archived(id string) *v1alpha1.Suite {
	return run{id: id, trigger: "smoke", environment: "staging", branch: "main", sha: commit("0ld"), ago: 60 * 24 * time.Hour, took: minute,
		condition: v1alpha1.Passed("All tests passed.")}.suite()
}

// TestArchivedRuns: after the last run of the cluster come those of the archive, and each has its page.
func TestArchivedRuns(t *testing.T) {
	h := newHarness(t, samples(), func(c *ui.Config) { c.Archive = archive{} })
	b := h.browser(t, readKey)
	steps := []struct{ path, want, link string }{
		{"/runs/shop?trigger=smoke", "smoke-first-attempt", "?from=archive"},
		{"/runs/shop?from=archive", "archived-1", "after=more"},
		{"/runs/shop?after=more&from=archive", "archived-2", "Newest"},
		{"/runs/shop/archived-1", "All tests passed.", "/attempts"},
		{"/runs/shop/archived-1/variables", "NPM_TOKEN", "hidden"},
	}
	for _, s := range steps {
		got := b.get(s.path)
		if got.code != http.StatusOK || !strings.Contains(got.body, s.want) || !strings.Contains(got.body, s.link) {
			t.Errorf("%s: %d, without %q or %q", s.path, got.code, s.want, s.link)
		}
	}
	if got := b.get("/runs/shop/archived-3"); got.code != http.StatusNotFound {
		t.Errorf("a run that nobody has: %d", got.code)
	}
}
