package bounded

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// shares count the memory of what is optional of objects, by namespace.
type shares struct {
	mu   sync.Mutex
	held map[string]int64
	of   map[types.NamespacedName]int64
}

func (s *shares) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.of = map[string]int64{}, map[types.NamespacedName]int64{}
}

// take replaces the share of an object, and reports whether its namespace has room.
func (s *shares) take(name types.NamespacedName, bytes, bound int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(name)
	if bytes == 0 {
		return true
	}
	if s.held[name.Namespace]+bytes > bound {
		return false
	}
	s.of[name] = bytes
	s.held[name.Namespace] += bytes
	return true
}

func (s *shares) forget(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(name)
}

func (s *shares) release(name types.NamespacedName) {
	if bytes, ok := s.of[name]; ok {
		s.held[name.Namespace] -= bytes
		delete(s.of, name)
	}
	if s.held[name.Namespace] == 0 {
		delete(s.held, name.Namespace)
	}
}
