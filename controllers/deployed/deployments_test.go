package controllers_test

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
	w := emptyWorld(t)
	shelf := &deploymentShelf{lines: map[string]record.Deployment{}}
	w.deployments = shelf
	w.hasTeam()
	w.grant("ClusterRole", workloadsReader)
	staging, d := anEnvironment("staging"), aDeployment("web", commit(1))
	staging.Spec.Workloads = []v1alpha1.Workload{{Name: "web", Repository: "acme/shop"}}
	w.create(d, staging)
	w.startManager()
	w.rollsOut(d)
	archived := func(want string) {
		t.Helper()
		w.eventually("the archive has "+want, func() string {
			if is := shelf.has("staging"); is != want {
				return "it has: " + is
			}
			return ""
		})
	}
	archived("11 with 1")
	to := func(n int) {
		t.Helper()
		w.change(d, func(o client.Object) { isOf(o.(*appsv1.Deployment), commit(n)) })
		w.rollsOut(d)
		w.has(staging, commit(n)+" true")
	}
	to(2)
	archived("11 with 1, 22 with 1")
	if len(staging.Status.Unarchived) > 0 {
		t.Errorf("the store has taken all, and the status keeps %+v", staging.Status.Unarchived)
	}

	shelf.close(errors.New("it refuses connections"))
	to(3)
	to(4)
	w.has(staging, commit(4)+" true")
	if all := staging.Status.Unarchived; len(all) != 1 || all[0].SHA != commit(3) || all[0].ReportedBy != v1alpha1.ReportedByWorkload {
		t.Errorf("the status keeps %+v", all)
	}
	w.stop()
	shelf.close(nil)
	w.startManager()
	archived("11 with 1, 22 with 1, 33 with 0, 44 with 1")
	w.eventually("the status keeps nothing", func() string {
		w.must(w.Client.Get(context.Background(), w.key("staging"), staging))
		if len(staging.Status.Unarchived) > 0 {
			return fmt.Sprintf("%+v", staging.Status.Unarchived)
		}
		return ""
	})

	w.must(w.Client.Delete(context.Background(), staging))
	w.eventually("the end is noted", func() string {
		shelf.mu.Lock()
		defer shelf.mu.Unlock()
		if len(shelf.ended) != 1 || !strings.HasSuffix(shelf.ended[0], "/staging") {
			return fmt.Sprint(shelf.ended)
		}
		return ""
	})
}
