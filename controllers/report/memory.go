package report

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// reportMemory is the outcome of a leader's requests. Losing it costs requests that read back, and some that are refused again.
type reportMemory struct {
	mu      sync.Mutex
	began   time.Time // of this leader
	doubted map[types.NamespacedName]bool
	failed  map[types.NamespacedName]map[report.Purpose]failedPost
}

// failedPost is not repeated until a time, unless the Trigger changes, or the run enters another phase.
type failedPost struct {
	until      time.Time
	generation int64 // of the Trigger
	phase      v1alpha1.ReportPhase
}

func (m *reportMemory) begin(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.began.IsZero() {
		m.began, m.doubted = now, map[types.NamespacedName]bool{}
		m.failed = map[types.NamespacedName]map[report.Purpose]failedPost{}
	}
}

// forget is for a run about which nothing is posted any more.
func (m *reportMemory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.doubted, key)
	delete(m.failed, key)
}

func (m *reportMemory) fail(o report.Observation, p report.Purpose, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(o.Suite)
	if m.failed[key] == nil {
		m.failed[key] = map[report.Purpose]failedPost{}
	}
	m.failed[key][p] = failedPost{until, o.Trigger.Generation, report.PhaseOf(o.Suite)}
}

func (m *reportMemory) succeed(key types.NamespacedName, p report.Purpose) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.failed[key], p); len(m.failed[key]) == 0 {
		delete(m.failed, key)
	}
}

func (m *reportMemory) pause(o report.Observation, p report.Purpose, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, failed := m.failed[client.ObjectKeyFromObject(o.Suite)][p]
	if !failed || f.generation != o.Trigger.Generation || f.phase != report.PhaseOf(o.Suite) {
		return 0
	}
	return f.until.Sub(now)
}

// inOrder returns the posts, and last the posts that failed: a post that always fails must not use up the requests that a host accepts.
func (m *reportMemory) inOrder(key types.NamespacedName) []post {
	m.mu.Lock()
	defer m.mu.Unlock()
	failed := func(p post) int {
		if _, failed := m.failed[key][p.purpose]; failed {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(posts), func(a, b post) int { return failed(a) - failed(b) })
}

// An earlier leader, or a request without an answer, may have posted more than the status says. Creation times are in whole seconds.
func (m *reportMemory) unsure(s *v1alpha1.Suite) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.CreationTimestamp.Time.Before(m.began) || m.doubted[client.ObjectKeyFromObject(s)]
}

func (m *reportMemory) doubt(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubted[key] = true
}

func (m *reportMemory) settle(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.doubted, key)
}
