package deployed_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// deploymentShelf is a store of deployments in memory, which a test may close.
type deploymentShelf struct {
	mu     sync.Mutex
	closed error
	lines  map[string]record.Deployment
	ended  []string
}

func (s *deploymentShelf) close(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = err
}

func (s *deploymentShelf) SaveDeployment(_ context.Context, d record.Deployment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.lines[d.Key()] = d
	}
	return s.closed
}

func (s *deploymentShelf) EndDeployments(_ context.Context, team, environment string, _ time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.ended = append(s.ended, team+"/"+environment)
	}
	return s.closed
}

// has the commits of an Environment, oldest first.
func (s *deploymentShelf) has(environment string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(s.lines))) {
		if d := s.lines[key]; d.Environment == environment {
			all = append(all, d.SHA[:2]+" with "+fmt.Sprint(len(d.Workloads)))
		}
	}
	return strings.Join(all, ", ")
}

// TestDeploymentsAreArchived by the leader, whether the store takes them at once, or only another leader can save them. The end of an
// Environment is noted.
func TestDeploymentsAreArchived(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	shelf := &deploymentShelf{lines: map[string]record.Deployment{}}
	w.Deployments = shelf
	w.HasTeam()
	w.Grant("ClusterRole", world.WorkloadsReader)
	staging, d := build.Environment("staging"), build.Deployment("web", build.Commit(1))
	staging.Spec.Workloads = []v1alpha1.Workload{{Name: "web", Repository: "acme/shop"}}
	w.Create(d, staging)
	w.StartManager()
	w.RollsOut(d)
	archived := func(want string) {
		t.Helper()
		w.Eventually("the archive has "+want, func() string {
			if is := shelf.has("staging"); is != want {
				return "it has: " + is
			}
			return ""
		})
	}
	archived("11 with 1")
	to := func(n int) {
		t.Helper()
		w.Change(d, func(o client.Object) { build.SetCommit(o.(*appsv1.Deployment), build.Commit(n)) })
		w.RollsOut(d)
		w.HasDeployed(staging, build.Commit(n)+" true")
	}
	to(2)
	archived("11 with 1, 22 with 1")
	if len(staging.Status.Unarchived) > 0 {
		t.Errorf("the store has taken all, and the status keeps %+v", staging.Status.Unarchived)
	}

	shelf.close(errors.New("it refuses connections"))
	to(3)
	to(4)
	w.HasDeployed(staging, build.Commit(4)+" true")
	if all := staging.Status.Unarchived; len(all) != 1 || all[0].SHA != build.Commit(3) || all[0].ReportedBy != v1alpha1.ReportedByWorkload {
		t.Errorf("the status keeps %+v", all)
	}
	w.Stop()
	shelf.close(nil)
	w.StartManager()
	archived("11 with 1, 22 with 1, 33 with 0, 44 with 1")
	w.Await("the status keeps nothing", staging, func() bool { return len(staging.Status.Unarchived) == 0 })

	w.Delete(staging)
	w.Eventually("the end is noted", func() string {
		shelf.mu.Lock()
		defer shelf.mu.Unlock()
		if len(shelf.ended) != 1 || !strings.HasSuffix(shelf.ended[0], "/staging") {
			return fmt.Sprint(shelf.ended)
		}
		return ""
	})
}
