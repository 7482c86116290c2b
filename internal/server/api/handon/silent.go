package handon

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// silence remembers which clusters gave no answer lately.
type silence struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[string]time.Time
}

// silentFor is how long a cluster counts as silent after a question without an answer: people send a request again after that.
const silentFor = 10 * time.Second

func (s *silence) note(cluster string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, cluster)
	if err != nil {
		s.since[cluster] = s.clock.Now()
	}
}

// all reports whether all of these clusters are silent.
func (s *silence) all(clusters map[string]bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for cluster := range clusters {
		if since, known := s.since[cluster]; !known || s.clock.Since(since) > silentFor {
			return false
		}
	}
	return true
}
