package peers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/managers"
	"github.com/postflight-dev/postflight/test/poll"
)

// workerQueues are the queues of a worker, and those of the management cluster without its check.
const workerQueues = `apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: tests}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 9}]}]
%[2]s---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: %[1]s, name: tests}
spec: {clusterQueue: tests}
`

// workers are the objects of MultiKueue in the management cluster.
const workers = `---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: elsewhere}
spec:
  controllerName: kueue.x-k8s.io/multikueue
  parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: elsewhere}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: elsewhere}
spec: {clusters: [worker]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {name: worker}
spec: {clusterSource: {kubeConfig: {locationType: Secret, location: worker}}}
`

// withoutRegression lets Kueue resume a Job that no Job controller manages: until it is fixed, Kubernetes 1.36 refuses that by default
// (kubernetes/kubernetes#139281).
const withoutRegression = "MutableSchedulingDirectivesForSuspendedJobs=false"

// fleet is a management cluster with Postflight, and a worker. Each has Kueue, and the Job controller of Kubernetes. The test is the
// kubelet of the worker.
type fleet struct {
	t          *testing.T
	ns         string // of the team, in both
	management *apiserver.Server
	worker     *apiserver.Server
	manager    *managers.Process
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, worker: apiserver.Own(t, apiserver.Options{})}
	f.management = apiserver.Own(t, apiserver.Options{API: map[string]string{"feature-gates": withoutRegression}})
	f.ns = f.management.Namespace(t)
	must(t, f.worker.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.ns}}))
	for _, s := range []*apiserver.Server{f.worker, f.management} {
		startKueue(t, s)
	}
	f.apply(f.worker, fmt.Sprintf(workerQueues, f.ns, ""))
	kubeconfig, err := os.ReadFile(apiserver.Kubeconfig(t, f.worker.Config))
	must(t, err)
	f.create(build.In(kueueSystem, build.Secret("worker", map[string][]byte{"kubeconfig": kubeconfig})))
	f.apply(f.management, fmt.Sprintf(workerQueues, f.ns, "  admissionChecksStrategy: {admissionChecks: [{name: elsewhere}]}\n")+workers)
	_, err = f.management.Kubectl(t, "wait", "--for=condition=Active", "clusterqueues/tests", "multikueuecluster/worker", "--timeout=120s")
	must(t, err)

	sum := sha256.Sum256([]byte(aKey))
	f.create(build.Team(f.ns, ""))
	f.create(build.In(f.ns, build.APIKey("ci", func(k *v1alpha1.APIKey) { k.Spec.SHA256 = hex.EncodeToString(sum[:]) })))
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "postflight-system"}})
	f.manager = managers.Start(t, managers.Options{Kubeconfig: apiserver.Kubeconfig(t, f.management.Manager(t))})
	f.manager.AwaitReady()
	return f
}

func (f *fleet) create(o client.Object) {
	f.t.Helper()
	must(f.t, f.management.Client.Create(f.t.Context(), o))
}

func (f *fleet) apply(s *apiserver.Server, manifests string) {
	f.t.Helper()
	_, err := s.Kubectl(f.t, "apply", "-f", write(f.t, f.t.TempDir(), "manifests.yaml", []byte(manifests)))
	must(f.t, err)
}

// flight is a run of a Trigger of its own.
type flight struct {
	*fleet
	t    *testing.T
	name string
}

func (f *fleet) notify(t *testing.T, change func(*v1alpha1.Trigger)) *flight {
	t.Helper()
	name := strings.ReplaceAll(t.Name()[strings.LastIndex(t.Name(), "/")+1:], "_", "-")
	f.create(build.In(f.ns, build.Environment(name)))
	trigger := build.In(f.ns, build.Trigger(name))
	trigger.Spec.Environment, trigger.Spec.Match.DeploymentTypes = name, []string{name}
	trigger.Spec.JobTemplate.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "tests"}
	trigger.Spec.JobTemplate.Spec.Suspend = new(true)
	needs := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	trigger.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Resources.Requests = needs
	if change != nil {
		change(trigger)
	}
	f.create(trigger)
	r := &flight{fleet: f, t: t}
	poll.Until(t, "the notification starts a run", func() string {
		var answer struct {
			Results []struct {
				Created string `json:"created_suite_id"`
			}
		}
		body := r.request(http.MethodPost, "/api/webhooks/deploy_success", fmt.Sprintf(`{"deployment_type": %q, "sha": %q}`, name, commit))
		must(t, json.Unmarshal([]byte(body), &answer))
		if len(answer.Results) != 1 || answer.Results[0].Created == "" {
			return body // the manager has not seen the objects
		}
		r.name = answer.Results[0].Created
		return ""
	})
	return r
}

func (r *flight) request(method, path, body string) string {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.manager.URL+path, strings.NewReader(body))
	must(r.t, err)
	request.Header.Set("Authorization", "Bearer "+aKey)
	request.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(request)
	must(r.t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	must(r.t, err)
	return string(content)
}

func (r *flight) key() client.ObjectKey { return client.ObjectKey{Namespace: r.ns, Name: r.name} }

func (r *flight) reaches(reason, message string) *v1alpha1.Suite {
	r.t.Helper()
	s := &v1alpha1.Suite{}
	poll.Until(r.t, "the run is "+reason, func() string {
		must(r.t, r.management.Client.Get(r.t.Context(), r.key(), s))
		if c := s.Succeeded(); c.Reason != reason || !strings.Contains(c.Message, message) {
			return c.Reason + ": " + c.Message
		}
		return ""
	})
	return s
}

func (r *flight) cancel() {
	r.t.Helper()
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: r.name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"cancel": true}}`))
	must(r.t, r.management.Client.Patch(r.t.Context(), s, patch))
}

// podStarts waits for the pod in the worker, and runs it as a kubelet does.
func (r *flight) podStarts() *corev1.Pod {
	r.t.Helper()
	var p *corev1.Pod
	poll.True(r.t, "the Job in the worker has a pod", func() bool {
		var pods corev1.PodList
		must(r.t, r.worker.Client.List(r.t.Context(), &pods, client.InNamespace(r.ns), client.MatchingLabels{batchv1.JobNameLabel: r.name}))
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp == nil {
				p = &pods.Items[i]
			}
		}
		return p != nil
	})
	node := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
	must(r.t, r.worker.Client.SubResource("binding").Create(r.t.Context(), p, node))
	must(r.t, r.worker.Client.Get(r.t.Context(), client.ObjectKeyFromObject(p), p))
	fakecluster.RunPod(p, time.Now())
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	must(r.t, r.worker.Client.Status().Update(r.t.Context(), p))
	return p
}

func (r *flight) podEnds(p *corev1.Pod, exit int32) {
	r.t.Helper()
	must(r.t, r.worker.Client.Get(r.t.Context(), client.ObjectKeyFromObject(p), p))
	fakecluster.EndPod(p, exit)
	p.Status.Conditions = nil
	must(r.t, r.worker.Client.Status().Update(r.t.Context(), p))
}

// hold lets the queue of the worker evict what runs, or go on.
func (f *fleet) hold(policy string) {
	f.t.Helper()
	patch := fmt.Sprintf(`{"spec": {"stopPolicy": %q}}`, policy)
	_, err := f.worker.Kubectl(f.t, "patch", "clusterqueue", "tests", "--type=merge", "-p", patch)
	must(f.t, err)
}

// isGone waits until neither cluster has a Job that runs.
func (r *flight) isGone() {
	r.t.Helper()
	j := &batchv1.Job{}
	poll.True(r.t, "MultiKueue deletes the Job of the worker", func() bool {
		return apierrors.IsNotFound(r.worker.Client.Get(r.t.Context(), r.key(), j))
	})
	poll.True(r.t, "the Job of the management cluster has ended or is gone", func() bool {
		err := r.management.Client.Get(r.t.Context(), r.key(), j)
		return apierrors.IsNotFound(err) || err == nil && outcome.CompletionTime(j) != nil
	})
}

// log returns what the API answers to a request for the log.
func (r *flight) log() string {
	r.t.Helper()
	return r.request(http.MethodGet, "/api/v0/runs/"+r.name+"/logs", "")
}
