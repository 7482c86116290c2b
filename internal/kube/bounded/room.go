package bounded

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Room is the memory that each namespace has for objects of some kinds.
type Room struct {
	bound int64

	mu   sync.Mutex
	used map[string]int64
}

// Share is what the objects of one source use of a Room.
type Share struct {
	room   *Room
	byName map[types.NamespacedName]use
	closed bool
}

type use struct {
	uid       types.UID
	namespace string // that pays
	bytes     int64
}

// NewRoom returns a Room of so many bytes for each namespace.
func NewRoom(bound int64) *Room { return &Room{bound: bound, used: map[string]int64{}} }

// Share returns one that uses nothing.
func (r *Room) Share() *Share { return &Share{room: r, byName: map[types.NamespacedName]use{}} }

// Has reports whether a namespace has room for an object.
func (r *Room) Has(namespace string, bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used[namespace]+bytes <= r.bound
}

// Take replaces what the object of a name uses. The first of the namespaces that has room pays. It reports whether one has.
func (s *Share) Take(object types.NamespacedName, uid types.UID, bytes int64, namespaces ...string) bool {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	if s.closed {
		return false
	}
	s.free(object)
	if bytes == 0 {
		return true
	}
	for _, namespace := range namespaces {
		if s.room.used[namespace]+bytes <= s.room.bound {
			s.room.used[namespace] += bytes
			s.byName[object] = use{uid, namespace, bytes}
			return true
		}
	}
	return false
}

// Drop gives back what an object uses, unless another object has the name by now.
func (s *Share) Drop(object types.NamespacedName, uid types.UID) {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	if s.byName[object].uid == uid {
		s.free(object)
	}
}

// Clear gives everything back.
func (s *Share) Clear() {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	for object := range s.byName {
		s.free(object)
	}
}

// Close gives everything back, and lets nothing be taken any more: the last event of an object may come late.
func (s *Share) Close() {
	s.room.mu.Lock()
	s.closed = true
	s.room.mu.Unlock()
	s.Clear()
}

func (s *Share) free(object types.NamespacedName) {
	u, found := s.byName[object]
	if !found {
		return
	}
	delete(s.byName, object)
	if s.room.used[u.namespace] -= u.bytes; s.room.used[u.namespace] == 0 {
		delete(s.room.used, u.namespace)
	}
}
