package deployed

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
)

// roomBytes bounds the memory of the workloads that Environments of a namespace name: a Deployment takes some 8 KiB, so these are 1,000.
const roomBytes = 8 << 20

// rooms are the memory of workloads, by the namespace of an Environment that names them, wherever they are.
type rooms struct {
	mu   sync.Mutex
	used map[string]int64
}

// share is what the objects of one source use.
type share struct {
	rooms  *rooms
	byName map[string]use
	closed bool
}

type use struct {
	uid       types.UID
	namespace string
	bytes     int64
}

func newRooms() *rooms { return &rooms{used: map[string]int64{}} }

func (r *rooms) enter() *share { return &share{rooms: r, byName: map[string]use{}} }

// take reports whether one of the namespaces has room for an object, which may have been smaller.
func (s *share) take(object string, uid types.UID, bytes int64, namespaces []string) bool {
	s.rooms.mu.Lock()
	defer s.rooms.mu.Unlock()
	if s.closed {
		return false
	}
	s.free(object)
	for _, namespace := range namespaces {
		if s.rooms.used[namespace]+bytes <= roomBytes {
			s.rooms.used[namespace] += bytes
			s.byName[object] = use{uid, namespace, bytes}
			return true
		}
	}
	return false
}

// has reports whether a namespace would have room.
func (r *rooms) has(namespace string, bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used[namespace]+bytes <= roomBytes
}

// drop does nothing if another object has the name by now.
func (s *share) drop(object string, uid types.UID) {
	s.rooms.mu.Lock()
	defer s.rooms.mu.Unlock()
	if s.byName[object].uid == uid {
		s.free(object)
	}
}

// leave gives back all, for ever.
func (s *share) leave() {
	s.rooms.mu.Lock()
	defer s.rooms.mu.Unlock()
	s.closed = true
	for object := range s.byName {
		s.free(object)
	}
}

func (s *share) free(object string) {
	u, found := s.byName[object]
	if !found {
		return
	}
	delete(s.byName, object)
	if s.rooms.used[u.namespace] -= u.bytes; s.rooms.used[u.namespace] == 0 {
		delete(s.rooms.used, u.namespace)
	}
}

func tooLarge(s workloads.Source, o *stub, namespace string) string {
	return fmt.Sprintf("The %s %s takes %d KiB of the manager's memory, and the workloads that Environments of the namespace %s name may take %d together. "+
		"Name fewer, or make them smaller.", s.Kind, o.Name, o.bytes>>10, namespace, roomBytes>>10)
}
