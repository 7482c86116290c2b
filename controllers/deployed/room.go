package deployed

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/internal/core/deployed"
)

// roomBytes bounds the memory of the workloads in a namespace that Environments name: a Deployment takes some 8 KiB, so these are 1,000.
const roomBytes = 8 << 20

// rooms are the memory of the workloads of each namespace, whatever their kinds.
type rooms struct {
	mu          sync.Mutex
	byNamespace map[string]*room
}

type room struct {
	used  int64
	users int
}

// account is what a watch uses of the room of its namespace.
type account struct {
	rooms     *rooms
	namespace string
	bytes     map[types.UID]int64
	closed    bool
}

func newRooms() *rooms { return &rooms{byNamespace: map[string]*room{}} }

func (r *rooms) enter(namespace string) *account {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byNamespace[namespace] == nil {
		r.byNamespace[namespace] = &room{}
	}
	r.byNamespace[namespace].users++
	return &account{rooms: r, namespace: namespace, bytes: map[types.UID]int64{}}
}

// take reports whether there is room for an object, which may have been smaller.
func (a *account) take(uid types.UID, bytes int64) bool {
	a.rooms.mu.Lock()
	defer a.rooms.mu.Unlock()
	if a.closed {
		return false
	}
	a.free(uid)
	own := a.rooms.byNamespace[a.namespace]
	if own.used+bytes > roomBytes {
		return false
	}
	own.used += bytes
	a.bytes[uid] = bytes
	return true
}

// hasFor reports whether there would be room.
func (a *account) hasFor(bytes int64) bool {
	a.rooms.mu.Lock()
	defer a.rooms.mu.Unlock()
	return !a.closed && a.rooms.byNamespace[a.namespace].used+bytes <= roomBytes
}

func (a *account) drop(uid types.UID) {
	a.rooms.mu.Lock()
	defer a.rooms.mu.Unlock()
	if !a.closed {
		a.free(uid)
	}
}

func (a *account) free(uid types.UID) {
	a.rooms.byNamespace[a.namespace].used -= a.bytes[uid]
	delete(a.bytes, uid)
}

func (a *account) leave() {
	a.rooms.mu.Lock()
	defer a.rooms.mu.Unlock()
	own := a.rooms.byNamespace[a.namespace]
	for _, bytes := range a.bytes {
		own.used -= bytes
	}
	if a.closed, a.bytes = true, nil; own.users == 1 {
		delete(a.rooms.byNamespace, a.namespace)
	}
	own.users--
}

func tooLarge(s deployed.Source, o *stub) string {
	return fmt.Sprintf("The %s %s takes %d KiB of the manager's memory, and the workloads that Environments name in namespace %s may take %d together. "+
		"Name fewer, or make them smaller.", s.Kind, o.Name, o.bytes>>10, s.Namespace, roomBytes>>10)
}
