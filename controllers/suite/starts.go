package suite

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// lookAfter is how old a Job without a ready pod is before its pods are read for the reason: most pods run by then.
const lookAfter = 3 * time.Second

// starts remember runs that were seen starting: when a pod of one is ready, its tests have just started. Without them, the pods of each
// run would be listed once more for that time.
type starts struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]types.UID
}

func newStarts() *starts { return &starts{seen: map[types.NamespacedName]types.UID{}} }

func (m *starts) note(s *v1alpha1.Suite) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] = s.UID
}

func (m *starts) noted(s *v1alpha1.Suite) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] == s.UID
}

func (m *starts) forget(run types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, run)
}
