package deployed_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

// TestEnvironmentFollowsItsWorkload from the first look over missing rights and a rollout until nobody names it any more.
func TestEnvironmentFollowsItsWorkload(t *testing.T) {
	t.Parallel()
	w, watches := newWatchedWorld(t)
	staging := build.Environment("staging")
	w.NamesWorkloads(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop"})
	w.Ready(staging, "False", world.WorkloadsUnknown, "The manager may not read objects of kind Deployment in namespace "+w.NS+
		". Allow it there with a RoleBinding to the ClusterRole "+world.WorkloadsReader+".")

	w.Grant("ClusterRole", world.WorkloadsReader)
	w.Ready(staging, "False", world.WorkloadsUnknown, "There is no Deployment web in namespace "+w.NS+".")

	d := build.Deployment("web", build.Commit(1))
	w.Create(d, build.Deployment("other", build.Commit(9)))
	w.HasDeployed(staging, " false 11111111 comes: 0 of 1 replicas of the Deployment web have it.")
	w.RollsOut(d)
	w.HasDeployed(staging, build.Commit(1)+" true sha256:1111")
	w.Ready(staging, "True", world.WorkloadsRead, "All workloads can be read.")
	first := staging.Status.Deployed[0]
	if first.ReportedBy != v1alpha1.ReportedByWorkload || first.Since == nil || len(staging.Status.Deployed) != 1 {
		t.Errorf("%+v", staging.Status.Deployed)
	}

	w.Change(d, func(o client.Object) { build.SetCommit(o.(*appsv1.Deployment), build.Commit(2)) })
	w.HasDeployed(staging, build.Commit(1)+" false 22222222 comes: ")
	w.RollsOut(d)
	w.HasDeployed(staging, build.Commit(2)+" true sha256:2222")

	w.Delete(d)
	w.Ready(staging, "False", world.WorkloadsUnknown, "There is no Deployment web in namespace")
	w.HasDeployed(staging, build.Commit(2)+" false There is no Deployment web")

	watches.are(w, 1)
	w.NamesWorkloads(staging)
	w.Await("the commit stays without workloads", staging, func() bool {
		all := staging.Status.Deployed
		return meta.FindStatusCondition(staging.Status.Conditions, v1alpha1.ConditionReady) == nil && len(all) == 1 && all[0].SHA == build.Commit(2) && all[0].Ready == nil
	})
	watches.are(w, 0)
}

// TestEnvironmentsShareWatches: a watch is of a kind and a namespace, and ends with the last Environment that names one of its objects.
func TestEnvironmentsShareWatches(t *testing.T) {
	t.Parallel()
	w, watches := newWatchedWorld(t)
	w.Grant("ClusterRole", world.WorkloadsReader)
	w.Create(build.Deployment("web", build.Commit(1)), build.Deployment("api", build.Commit(2)))
	staging, nightly := build.Environment("staging"), build.Environment("nightly")
	w.Create(nightly)
	labeled := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}
	w.NamesWorkloads(staging, v1alpha1.Workload{Name: "web"}, v1alpha1.Workload{Selector: labeled})
	w.NamesWorkloads(nightly, v1alpha1.Workload{Name: "api"})
	w.Ready(staging, "True", world.WorkloadsRead, "")
	w.Ready(nightly, "True", world.WorkloadsRead, "")
	if all := staging.Status.Deployed; len(all) != 1 || len(all[0].Workloads) != 2 {
		t.Errorf("%+v", all)
	}
	w.Ready(staging, "True", world.WorkloadsRead, "All workloads can be read. The Environment nightly names the Deployment api, too.")
	w.Ready(nightly, "True", world.WorkloadsRead, "The Environment staging names the Deployment api, too.")
	watches.are(w, 1)
	w.NamesWorkloads(staging)
	w.Await("no other Environment names it", nightly, func() bool { return nightly.Status.Conditions[0].Message == "All workloads can be read." })
	api := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "api"}}
	w.Change(api, func(o client.Object) { build.SetCommit(o.(*appsv1.Deployment), build.Commit(3)) })
	w.RollsOut(api)
	w.HasDeployed(nightly, build.Commit(3)+" true")
	watches.are(w, 1)
	w.Delete(nightly)
	watches.are(w, 0)
}

// TestEnvironmentNamesUnknownKinds: these are problems of the Environment, and other workloads are read all the same.
func TestEnvironmentNamesUnknownKinds(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Grant("ClusterRole", world.WorkloadsReader)
	d := build.Deployment("web", build.Commit(1))
	w.Create(d)
	w.RollsOut(d)
	for name, tc := range map[string]struct {
		workload v1alpha1.Workload
		says     string
	}{
		"missing": {v1alpha1.Workload{Kind: "Rollout", Name: "x"}, "The cluster has no kind Rollout in argoproj.io/v1alpha1."},
		"global":  {v1alpha1.Workload{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "x"}, "Objects of kind ClusterRole belong to no namespace: their scope is root."},
		"foreign": {v1alpha1.Workload{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: "x"},
			"The manager may not read objects of kind Ingress in namespace " + w.NS + ". Allow it there with a RoleBinding to a Role that lists and watches them."},
		"malformed": {v1alpha1.Workload{Name: "web", SHA: &v1alpha1.WorkloadValue{Expression: "object."}}, "The sha of the Deployment web cannot be read: the expression does not compile"},
	} {
		t.Run(name, func(t *testing.T) {
			e := build.Environment(name)
			tc.workload.Repository = "acme/other"
			e.Spec.Workloads = []v1alpha1.Workload{{Name: "web", Repository: "acme/shop"}, tc.workload}
			w.Create(e)
			w.Ready(e, "False", world.WorkloadsUnknown, tc.says)
			if all := e.Status.Deployed; len(all) != 2 || all[1].SHA != build.Commit(1) || all[1].Ready == nil || !*all[1].Ready || all[0].SHA != "" {
				t.Errorf("%+v", all)
			}
		})
	}
}

// TestEnvironmentNamesOtherNamespaces only if the operator lists them in the Team.
func TestEnvironmentNamesOtherNamespaces(t *testing.T) {
	t.Parallel()
	w, watches := newWatchedWorld(t)
	other := w.Namespace(t)
	watches.namespace(other)
	binding := build.Grant("ClusterRole", world.WorkloadsReader)
	binding.Namespace = other
	d := build.Deployment("web", build.Commit(1))
	d.Namespace = other
	w.Create(binding, d)
	staging := build.Environment("staging")
	w.NamesWorkloads(staging, v1alpha1.Workload{Name: "web", Namespace: other})
	const refused = "ask your operator to list Deployment web in namespace "
	w.Ready(staging, "False", world.WorkloadsUnknown, refused+other)
	watches.are(w, 0)

	list := func(all ...v1alpha1.WorkloadNamespace) {
		t.Helper()
		w.Change(build.Team(w.NS, ""), func(o client.Object) { o.(*v1alpha1.Team).Spec.WorkloadNamespaces = all })
	}
	list(v1alpha1.WorkloadNamespace{Name: other, Workloads: []string{"web"}})
	w.Ready(staging, "True", world.WorkloadsRead, "")
	w.HasDeployed(staging, " false 11111111 comes: ")
	watches.are(w, 1)
	list(v1alpha1.WorkloadNamespace{Name: other, Workloads: []string{"bank"}})
	w.Ready(staging, "False", world.WorkloadsUnknown, refused+other)
	watches.are(w, 0)
}

// openWatches counts the watches of Deployments in a namespace that a manager has at the moment.
type openWatches struct {
	mu   sync.Mutex
	path string // part of it
	open int
}

func newWatchedWorld(t *testing.T) (*world.World, *openWatches) {
	t.Helper()
	w := world.Empty(t)
	w.HasTeam()
	w.Create(build.Environment("staging"))
	watches := &openWatches{}
	watches.namespace(w.NS)
	w.ManagerConfig.Wrap(watches.wrap)
	w.StartManager()
	return w, watches
}

// TestUnknownKindsCostOneLook: however many Environments name kinds that the cluster lacks, the API server is asked for its kinds once in a
// while.
func TestUnknownKindsCostOneLook(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	w.HasTeam()
	var asked atomic.Int64
	w.ManagerConfig.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return world.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); len(parts) < 4 && strings.HasPrefix(parts[0], "api") {
				asked.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	w.StartManager()
	before := asked.Load() // the manager looks for its own kinds
	const environments, workloads = 20, 20
	all := make([]*v1alpha1.Environment, environments)
	for i := range all {
		e := build.Environment(fmt.Sprint("e", i))
		all[i] = e
		for j := range workloads {
			e.Spec.Workloads = append(e.Spec.Workloads, v1alpha1.Workload{APIVersion: "x.example/v1", Kind: fmt.Sprintf("Kind%dx%d", i, j), Name: "web"})
		}
		w.Create(e)
	}
	for _, e := range all {
		w.Ready(e, "False", world.WorkloadsUnknown, "The cluster has no kind Kind")
	}
	if got := asked.Load() - before; got > environments {
		t.Errorf("the API server was asked %d times for its kinds, by %d Environments", got, environments)
	}
}

func (o *openWatches) namespace(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.path = "/namespaces/" + name + "/deployments"
}

func (o *openWatches) wrap(next http.RoundTripper) http.RoundTripper {
	return world.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusOK && r.URL.Query().Has("watch") && o.counts(r.URL.Path) {
			o.add(1)
			resp.Body = &countedBody{ReadCloser: resp.Body, closed: sync.OnceFunc(func() { o.add(-1) })}
		}
		return resp, err
	})
}

func (o *openWatches) counts(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.HasSuffix(path, o.path)
}

func (o *openWatches) add(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open += n
}

func (o *openWatches) are(w *world.World, want int) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("the manager has %d watches of Deployments", want), func() string {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.open != want {
			return fmt.Sprint(o.open)
		}
		return ""
	})
}

type countedBody struct {
	io.ReadCloser
	closed func()
}

func (b *countedBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}
