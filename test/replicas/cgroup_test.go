package replicas

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cgroup bounds the memory of a process, as a container does.
type cgroup struct {
	dir string
	v2  bool
}

// newCgroup needs the rights to make one. Where they are missing the test is skipped, and fails in CI.
func newCgroup(t testing.TB, bytes int) *cgroup {
	t.Helper()
	var failures []string
	for _, parent := range cgroupParents() {
		g := &cgroup{dir: filepath.Join(parent.dir, fmt.Sprintf("postflight-test-%d", os.Getpid())), v2: parent.v2}
		err := g.make(bytes)
		if err == nil {
			t.Cleanup(g.remove)
			return g
		}
		failures = append(failures, err.Error())
	}
	missing := t.Skipf
	if os.Getenv("CI") == "true" {
		missing = t.Fatalf
	}
	missing("SKIPPED, NOT PASSED: no memory cgroup can be made here; run it as root: %s", strings.Join(failures, "; "))
	return nil
}

// cgroupParents are where a cgroup may be made: below the test's own, and above it.
func cgroupParents() (parents []cgroup) {
	content, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(content)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "memory":
			parents = append(parents, cgroup{dir: filepath.Join("/sys/fs/cgroup/memory", parts[2])}, cgroup{dir: "/sys/fs/cgroup/memory"})
		case parts[1] == "":
			for dir := filepath.Join("/sys/fs/cgroup", parts[2]); strings.HasPrefix(dir, "/sys/fs/cgroup"); dir = filepath.Dir(dir) {
				parents = append(parents, cgroup{dir: dir, v2: true})
			}
		}
	}
	return parents
}

func (g *cgroup) make(bytes int) error {
	limit := "memory.limit_in_bytes"
	if g.v2 {
		limit = "memory.max"
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(g.dir, limit)); err != nil { // or a plain file would be made
		g.remove()
		return err
	}
	if err := os.WriteFile(filepath.Join(g.dir, limit), []byte(strconv.Itoa(bytes)), 0o644); err != nil {
		g.remove()
		return err
	}
	if g.v2 {
		_ = os.WriteFile(filepath.Join(g.dir, "memory.swap.max"), []byte("0"), 0o644) // not there without swap
	}
	return nil
}

// remove waits for the kernel to notice that the processes have ended.
func (g *cgroup) remove() {
	for range 50 {
		if os.Remove(g.dir) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// run starts a command in the cgroup.
func (g *cgroup) run() []string {
	return []string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, g.dir}
}

// peakMiB is the most that was used, in version 1 since the last reading.
func (g *cgroup) peakMiB() int {
	if g.v2 {
		return g.number("memory.peak") >> 20
	}
	peak := g.number("memory.max_usage_in_bytes") >> 20
	_ = os.WriteFile(filepath.Join(g.dir, "memory.max_usage_in_bytes"), []byte("0"), 0o644)
	return peak
}

func (g *cgroup) number(file string) int {
	content, _ := os.ReadFile(filepath.Join(g.dir, file))
	n, _ := strconv.Atoi(strings.TrimSpace(string(content)))
	return n
}

// kills is how often the kernel killed a process because memory ran out.
func (g *cgroup) kills() (n int) {
	file := "memory.oom_control"
	if g.v2 {
		file = "memory.events"
	}
	content, _ := os.ReadFile(filepath.Join(g.dir, file))
	for line := range strings.Lines(string(content)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ = strconv.Atoi(strings.TrimSpace(count))
		}
	}
	return n
}
