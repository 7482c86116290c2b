package controllers_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const (
	workloadsRead    = "WorkloadsRead"
	workloadsUnknown = "WorkloadsUnknown"
	workloadsReader  = "postflight-workloads-reader"
)

// TestEnvironmentFollowsItsWorkload from the first look over missing rights and a rollout until nobody names it any more.
func TestEnvironmentFollowsItsWorkload(t *testing.T) {
	t.Parallel()
	w, watches := newWatchedWorld(t)
	staging := anEnvironment("staging")
	w.names(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop"})
	w.ready(staging, "False", workloadsUnknown, "The manager may not read objects of kind Deployment in namespace "+w.ns+
		". Allow it there with a RoleBinding to the ClusterRole "+workloadsReader+".")

	w.grant("ClusterRole", workloadsReader)
	w.ready(staging, "False", workloadsUnknown, "There is no Deployment web in namespace "+w.ns+".")

	d := aDeployment("web", commit(1))
	w.create(d, aDeployment("other", commit(9)))
	w.has(staging, " false 11111111 comes: 0 of 1 replicas of the Deployment web have it.")
	w.rollsOut(d)
	w.has(staging, commit(1)+" true sha256:1111")
	w.ready(staging, "True", workloadsRead, "All workloads can be read.")
	first := staging.Status.Deployed[0]
	if first.ReportedBy != v1alpha1.ReportedByWorkload || first.Since == nil || len(staging.Status.Deployed) != 1 {
		t.Errorf("%+v", staging.Status.Deployed)
	}

	w.change(d, func(o client.Object) { isOf(o.(*appsv1.Deployment), commit(2)) })
	w.has(staging, commit(1)+" false 22222222 comes: ")
	w.rollsOut(d)
	w.has(staging, commit(2)+" true sha256:2222")

	w.must(w.Client.Delete(context.Background(), d))
	w.ready(staging, "False", workloadsUnknown, "There is no Deployment web in namespace")
	w.has(staging, commit(2)+" false There is no Deployment web")

	watches.are(w, 1)
	w.names(staging)
	w.eventually("the commit stays without workloads", func() string {
		w.must(w.Client.Get(context.Background(), w.key("staging"), staging))
		c := meta.FindStatusCondition(staging.Status.Conditions, v1alpha1.ConditionReady)
		if all := staging.Status.Deployed; c != nil || len(all) != 1 || all[0].SHA != commit(2) || all[0].Ready != nil {
			return fmt.Sprintf("%+v, %+v", c, all)
		}
		return ""
	})
	watches.are(w, 0)
}

// TestEnvironmentsShareWatches: a watch is of a kind and a namespace, and ends with the last Environment that names one of its objects.
func TestEnvironmentsShareWatches(t *testing.T) {
	t.Parallel()
	w, watches := newWatchedWorld(t)
	w.grant("ClusterRole", workloadsReader)
	w.create(aDeployment("web", commit(1)), aDeployment("api", commit(2)))
	staging, nightly := anEnvironment("staging"), anEnvironment("nightly")
	w.create(nightly)
	labeled := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}
	w.names(staging, v1alpha1.Workload{Name: "web"}, v1alpha1.Workload{Selector: labeled})
	w.names(nightly, v1alpha1.Workload{Name: "api"})
	w.ready(staging, "True", workloadsRead, "")
	w.ready(nightly, "True", workloadsRead, "")
	if all := staging.Status.Deployed; len(all) != 1 || len(all[0].Workloads) != 2 {
		t.Errorf("%+v", all)
	}
	w.ready(staging, "True", workloadsRead, "All workloads can be read. The Environment nightly names the Deployment api, too.")
	w.ready(nightly, "True", workloadsRead, "The Environment staging names the Deployment api, too.")
	watches.are(w, 1)
	w.names(staging)
	w.eventually("nobody else names it", func() string {
		w.must(w.Client.Get(context.Background(), w.key(nightly.Name), nightly))
		if message := nightly.Status.Conditions[0].Message; message != "All workloads can be read." {
			return message
		}
		return ""
	})
	api := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "api"}}
	w.change(api, func(o client.Object) { isOf(o.(*appsv1.Deployment), commit(3)) })
	w.rollsOut(api)
	w.has(nightly, commit(3)+" true")
	watches.are(w, 1)
	w.must(w.Client.Delete(context.Background(), nightly))
	watches.are(w, 0)
}

// TestEnvironmentNamesUnknownKinds: these are problems of the Environment, and other workloads are read all the same.
func TestEnvironmentNamesUnknownKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.grant("ClusterRole", workloadsReader)
	d := aDeployment("web", commit(1))
	w.create(d)
	w.rollsOut(d)
	for name, tc := range map[string]struct {
		workload v1alpha1.Workload
		says     string
	}{
		"missing": {v1alpha1.Workload{Kind: "Rollout", Name: "x"}, "The cluster has no kind Rollout in argoproj.io/v1alpha1."},
		"global":  {v1alpha1.Workload{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "x"}, "Objects of kind ClusterRole belong to no namespace: their scope is root."},
		"foreign": {v1alpha1.Workload{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: "x"},
			"The manager may not read objects of kind Ingress in namespace " + w.ns + ". Allow it there with a RoleBinding to a Role that lists and watches them."},
		"malformed": {v1alpha1.Workload{Name: "web", SHA: &v1alpha1.WorkloadValue{Expression: "object."}}, "The sha of the Deployment web cannot be read: the expression does not compile"},
	} {
		t.Run(name, func(t *testing.T) {
			e := anEnvironment(name)
			tc.workload.Repository = "acme/other"
			e.Spec.Workloads = []v1alpha1.Workload{{Name: "web", Repository: "acme/shop"}, tc.workload}
			w.create(e)
			w.ready(e, "False", workloadsUnknown, tc.says)
			if all := e.Status.Deployed; len(all) != 2 || all[1].SHA != commit(1) || all[1].Ready == nil || !*all[1].Ready || all[0].SHA != "" {
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
	binding := aGrant("ClusterRole", workloadsReader)
	binding.Namespace = other
	d := aDeployment("web", commit(1))
	d.Namespace = other
	w.create(binding, d)
	staging := anEnvironment("staging")
	w.names(staging, v1alpha1.Workload{Name: "web", Namespace: other})
	const refused = "ask your operator to list Deployment web in namespace "
	w.ready(staging, "False", workloadsUnknown, refused+other)
	watches.are(w, 0)

	list := func(all ...v1alpha1.WorkloadNamespace) {
		t.Helper()
		w.change(aTeam(w.ns, ""), func(o client.Object) { o.(*v1alpha1.Team).Spec.WorkloadNamespaces = all })
	}
	list(v1alpha1.WorkloadNamespace{Name: other, Workloads: []string{"web"}})
	w.ready(staging, "True", workloadsRead, "")
	w.has(staging, " false 11111111 comes: ")
	watches.are(w, 1)
	list(v1alpha1.WorkloadNamespace{Name: other, Workloads: []string{"bank"}})
	w.ready(staging, "False", workloadsUnknown, refused+other)
	watches.are(w, 0)
}

// aDeployment has one replica, which the test rolls out.
func aDeployment(name, sha string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}}
	d.Spec.Replicas = new(int32(1))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: d.Labels}
	d.Spec.Template.Labels = d.Labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
	isOf(d, sha)
	return d
}

func isOf(d *appsv1.Deployment, sha string) {
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": sha[:1]}
	d.Spec.Template.Spec.Containers[0].Image = "registry.example.com/shop:" + sha
}

// rollsOut acts as the Deployment controller and the kubelet: a pod of the newest revision replaces others.
func (w *world) rollsOut(d *appsv1.Deployment) {
	w.t.Helper()
	inNamespace := client.InNamespace(d.Namespace)
	w.must(w.Client.DeleteAllOf(context.Background(), &corev1.Pod{}, inNamespace, client.MatchingLabels(d.Spec.Selector.MatchLabels), client.GracePeriodSeconds(0)))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: d.Name + "-", Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec}
	w.create(p)
	w.status(p, func() {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", ImageID: "registry.example.com/shop@sha256:" + strings.Repeat(d.Annotations["deployment.kubernetes.io/revision"], 64)}}
	})
	w.status(d, func() {
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
			Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}, {Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			},
		}
	})
}

// names gives an Environment these workloads, and no others.
func (w *world) names(e *v1alpha1.Environment, workloads ...v1alpha1.Workload) {
	w.t.Helper()
	w.change(e, func(o client.Object) { o.(*v1alpha1.Environment).Spec.Workloads = workloads })
}

// has waits until the first repository of an Environment has a commit, is ready or not, and has a message and digests that begin so.
func (w *world) has(e *v1alpha1.Environment, begins string) {
	w.t.Helper()
	w.eventually("the Environment "+e.Name+" has "+begins, func() string {
		w.must(w.Client.Get(context.Background(), w.key(e.Name), e))
		if len(e.Status.Deployed) == 0 || e.Status.Deployed[0].Ready == nil {
			return "nothing of workloads"
		}
		d := e.Status.Deployed[0]
		is := fmt.Sprintf("%s %t %s", d.SHA, *d.Ready, d.Message)
		for _, of := range d.Workloads[0].Digests {
			is += of.Digest
		}
		if !strings.HasPrefix(is, begins) {
			return is
		}
		return ""
	})
}

// openWatches counts the watches of Deployments in a namespace that a manager has at the moment.
type openWatches struct {
	mu   sync.Mutex
	path string // part of it
	open int
}

func newWatchedWorld(t *testing.T) (*world, *openWatches) {
	t.Helper()
	w := emptyWorld(t)
	w.hasTeam()
	w.create(anEnvironment("staging"))
	watches := &openWatches{}
	watches.namespace(w.ns)
	w.config.Wrap(watches.wrap)
	w.startManager()
	return w, watches
}

// TestUnknownKindsCostOneLook: however many Environments name kinds that the cluster lacks, the API server is asked for its kinds once in a while.
func TestUnknownKindsCostOneLook(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.hasTeam()
	var asked atomic.Int64
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); len(parts) < 4 && strings.HasPrefix(parts[0], "api") {
				asked.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	w.startManager()
	before := asked.Load() // the manager looks for its own kinds
	const environments, workloads = 20, 20
	all := make([]*v1alpha1.Environment, environments)
	for i := range all {
		e := anEnvironment(fmt.Sprint("e", i))
		all[i] = e
		for j := range workloads {
			e.Spec.Workloads = append(e.Spec.Workloads, v1alpha1.Workload{APIVersion: "x.example/v1", Kind: fmt.Sprintf("Kind%dx%d", i, j), Name: "web"})
		}
		w.create(e)
	}
	for _, e := range all {
		w.ready(e, "False", workloadsUnknown, "The cluster has no kind Kind")
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
	return roundTripper(func(r *http.Request) (*http.Response, error) {
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

func (o *openWatches) are(w *world, want int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the manager has %d watches of Deployments", want), func() string {
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
