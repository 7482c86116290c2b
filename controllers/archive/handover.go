package archive

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
)

// maxHandovers bounds the memory: at 64 KiB of variables, they take 8 MiB.
const maxHandovers = 128

// Handovers pass what was read to end a run to its archiving, once. Without them, each archived run would cost one more read of its Suite
// and one of its pods.
type Handovers struct {
	mu    sync.Mutex
	byRun map[types.UID]handover
}

type handover struct {
	variables map[string]string // which the cache drops when the run ends
	sources   []record.Source   // of its pods, which have the variables once more in each container
}

// NewHandovers returns an empty memory.
func NewHandovers() *Handovers { return &Handovers{byRun: map[types.UID]handover{}} }

// Put comes before the end of the run is written, because the archive may see that at once.
func (h *Handovers) Put(s *v1alpha1.Suite, pods []corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for old := range h.byRun {
		if len(h.byRun) < maxHandovers {
			break
		}
		delete(h.byRun, old)
	}
	h.byRun[s.UID] = handover{s.Spec.Variables, record.Sources(pods)}
}

func (h *Handovers) take(s *v1alpha1.Suite) (handover, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, ok := h.byRun[s.UID]
	delete(h.byRun, s.UID)
	return found, ok
}
