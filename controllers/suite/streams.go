package suite

import (
	"slices"
	"sync"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// streams remember the newest run of each listed stream that may supersede others. Without them, each reconcile would list all ended runs
// of its stream: a branch may have thousands.
type streams struct {
	mu     sync.Mutex
	newest map[streamID]*v1alpha1.Suite
}

type streamID struct{ namespace, key string }

func newStreams() *streams { return &streams{newest: map[streamID]*v1alpha1.Suite{}} }

func streamIDOf(s *v1alpha1.Suite) streamID { return streamID{s.Namespace, suite.StreamKey(s)} }

// Events wait while list is called, so that none is missed: the cache has a change before its event.
func (x *streams) newestOf(id streamID, list func() ([]*v1alpha1.Suite, error)) (*v1alpha1.Suite, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.newest[id]; s != nil {
		return s, nil
	}
	all, err := list()
	all = slices.DeleteFunc(all, func(s *v1alpha1.Suite) bool { return !ledger.IsDeployment(s) })
	if err != nil || len(all) == 0 {
		return nil, err
	}
	newest := *slices.MaxFunc(all, ledger.Compare) // a copy: the list would stay in memory with it
	x.newest[id] = &newest
	return &newest, nil
}

// One of both is nil if the run is new or gone.
func (x *streams) change(old, updated *v1alpha1.Suite) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old != nil && (updated == nil || streamIDOf(old) != streamIDOf(updated)) {
		x.leave(old)
	}
	if updated != nil {
		x.enter(updated)
	}
}

func (x *streams) leave(s *v1alpha1.Suite) {
	id := streamIDOf(s)
	if newest := x.newest[id]; newest != nil && newest.Name == s.Name {
		delete(x.newest, id)
	}
}

func (x *streams) enter(s *v1alpha1.Suite) {
	id := streamIDOf(s)
	newest := x.newest[id]
	switch {
	case newest == nil: // it is listed when somebody asks
	case ledger.IsDeployment(s) && ledger.Compare(s, newest) >= 0:
		x.newest[id] = s
	case s.Name == newest.Name: // it counts as older now, and another may be the newest
		delete(x.newest, id)
	}
}
