package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// limiter matches where a limit is made, and its name.
var limiter = regexp.MustCompile(`(?:fairness\.New(?:TeamLimiter|Semaphore|SharedSemaphore|Cache\[[^(]*\])|rate\.NewLimiter|semaphore\.NewWeighted|NewPaces|make\(chan struct\{\}, )\(?([A-Za-z.]+)`)

// TestEveryLimitIsListed: docs/operations/limits.md names each limit by what sets it in the code.
func TestEveryLimitIsListed(t *testing.T) {
	root := folder(t, "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, part := range []string{"internal", "controllers", "cmd/manager"} {
		err = filepath.WalkDir(filepath.Join(root, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			if strings.HasPrefix(path, filepath.Join(root, "internal", "fairness")) {
				return nil // what makes the limits of others
			}
			content, err := os.ReadFile(path)
			for _, m := range limiter.FindAllStringSubmatch(string(content), -1) {
				name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(m[1], "c."), "s."), "Limits.")
				if alias := map[string]string{"runtime.GOMAXPROCS": "matching", "reviewsPerSecond": "maxReviews", "r.limits.perSecond": "maxReviews", "rate.Limit": "Renders", "perSecond": "Renders"}[name]; alias != "" {
					name = alias
				}
				found++
				if !strings.Contains(string(page), "`"+name+"`") {
					t.Errorf("%s makes a limit of %s, which docs/operations/limits.md does not list", strings.TrimPrefix(path, root+"/"), name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 15 {
		t.Errorf("only %d limits were found", found)
	}
}

var constant = regexp.MustCompile(`(?m)^\t([a-z]\w+)\s+= `)

// TestEveryBoundIsListed: so are the bounds of what the manager caches of one namespace.
func TestEveryBoundIsListed(t *testing.T) {
	root := folder(t, "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(filepath.Join(root, "internal", "kube", "bounded", "limits.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := constant.FindAllStringSubmatch(string(code), -1)
	if len(names) < 10 {
		t.Errorf("only %d bounds were found", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name[1]+"`") {
			t.Errorf("docs/operations/limits.md does not list %s", name[1])
		}
	}
}
