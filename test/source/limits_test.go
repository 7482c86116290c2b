package source

import (
	"cmp"
	"regexp"
	"strings"
	"testing"
)

// limiter matches where a limit is made, and its name.
var limiter = regexp.MustCompile(`(?:fairness\.New(?:TeamLimiter|Semaphore|SharedSemaphore|Cache\[[^(]*\])|` +
	`rate\.NewLimiter|semaphore\.NewWeighted|NewPaces|make\(chan struct\{\}, )\(?([A-Za-z.]+)`)

// TestEveryLimitIsListed: docs/operations/limits.md names each limit by what sets it in the code.
func TestEveryLimitIsListed(t *testing.T) {
	page := read(t, "docs/operations/limits.md")
	aliases := map[string]string{
		"runtime.GOMAXPROCS": "matching", "reviewsPerSecond": "maxReviews", "r.limits.perSecond": "maxReviews", "rate.Limit": "Renders",
		"p.limit":   "asksPerMinute",
		"perSecond": "Renders",
	}
	found := 0
	for path := range readCode(t).files {
		within := func(folder string) bool { return strings.HasPrefix(path, folder+"/") }
		if !within("internal") && !within("controllers") && !within("cmd/manager") || within("internal/fairness") ||
			strings.HasSuffix(path, "_test.go") {
			continue // internal/fairness makes the limits of others
		}
		for _, m := range limiter.FindAllStringSubmatch(read(t, path), -1) {
			name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(m[1], "c."), "s."), "Limits.")
			name = cmp.Or(aliases[name], name)
			found++
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("%s makes a limit of %s, which docs/operations/limits.md does not list", path, name)
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d limits were found", found)
	}
}

var constant = regexp.MustCompile(`(?m)^\t([a-z]\w+)\s+= `)

// TestEveryBoundIsListed: so are the bounds of what the manager caches of one namespace.
func TestEveryBoundIsListed(t *testing.T) {
	page := read(t, "docs/operations/limits.md")
	names := constant.FindAllStringSubmatch(read(t, "internal/kube/bounded/limits.go"), -1)
	if len(names) < 10 {
		t.Errorf("only %d bounds were found", len(names))
	}
	for _, name := range names {
		if !strings.Contains(page, "`"+name[1]+"`") {
			t.Errorf("docs/operations/limits.md does not list %s", name[1])
		}
	}
}
