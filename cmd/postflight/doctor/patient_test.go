package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/internal/core/doctor"
	"github.com/postflight-dev/postflight/internal/core/doctor/reach"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

const system = "postflight-system"

// patient is an installation without nodes: the test writes what a cluster and the manager would.
type patient struct {
	*testing.T
	client.Client
	config     *rest.Config // of the administrator
	kubeconfig string
	namespace  string // of the team
	storeDown  atomic.Bool
}

func newPatient(t *testing.T) *patient {
	s := apiserver.Alone(t)
	root, err := apiserver.Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(root, "config", "default")); err != nil {
		t.Fatal(err)
	}
	scheme := access.NewScheme()
	if err := rbacv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(s.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	p := &patient{T: t, Client: c, config: s.Config, kubeconfig: apiserver.Kubeconfig(t, s.Config), namespace: s.Namespace(t)}
	p.startPods()
	p.addTeam()
	return p
}

func (p *patient) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *patient) deployment() *appsv1.Deployment {
	p.Helper()
	d := &appsv1.Deployment{}
	p.must(p.Get(p.Context(), client.ObjectKey{Namespace: system, Name: "postflight-manager"}, d))
	return d
}

func (p *patient) changed(o client.Object, change func(client.Object)) {
	p.Helper()
	p.must(p.Get(p.Context(), client.ObjectKeyFromObject(o), o))
	change(o)
	p.must(p.Update(p.Context(), o))
}

// startPods makes two ready replicas. One leads. This process serves their probes.
func (p *patient) startPods() {
	d := p.deployment()
	d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = 2, 2, 2
	p.must(p.Status().Update(p.Context(), d))
	address, port := p.probes()
	for _, name := range []string{"manager-a", "manager-b"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name, Labels: d.Spec.Template.Labels},
			Spec: *d.Spec.Template.Spec.DeepCopy()}
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "probes", ContainerPort: port}}
		p.must(p.Create(p.Context(), pod))
		p.Cleanup(func() { _ = p.Delete(context.Background(), pod, client.GracePeriodSeconds(0)) })
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}}
		p.must(p.Status().Update(p.Context(), pod))
	}
	p.lead(time.Now())
}

// lead says when the leader has renewed its Lease. If that was seconds ago, doctor looks again for seconds.
func (p *patient) lead(renewed time.Time) {
	p.Helper()
	p.changed(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "postflight"}}, func(o client.Object) {
		o.(*coordinationv1.Lease).Spec = coordinationv1.LeaseSpec{
			HolderIdentity: new("manager-a"), LeaseDurationSeconds: new(int32(1800)), RenewTime: new(metav1.NewMicroTime(renewed)),
		}
	})
}

// finds calls doctor until it finds what it must: the API server acts on rights and policies a moment after they have changed.
func (p *patient) finds(what string, enough func([]doctor.Finding) bool) (found []doctor.Finding, code int) {
	p.Helper()
	poll.Until(p, what, func() string {
		if found, code = p.doctor(); enough(found) {
			return ""
		}
		return fmt.Sprintf("%+v", found)
	})
	return found, code
}

// probes serves /readyz at an address to which the API server may forward requests: not at that of the loopback.
func (p *patient) probes() (address string, port int32) {
	addresses, err := net.InterfaceAddrs()
	p.must(err)
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			address = ip.IP.String()
		}
	}
	if address == "" {
		p.Skip("SKIPPED, NOT PASSED: this machine has no address but that of the loopback, to which no API server forwards requests")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	p.must(err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(p.answer)}}
	server.Start()
	p.Cleanup(server.Close)
	_, text, _ := net.SplitHostPort(listener.Addr().String())
	number, err := strconv.ParseInt(text, 10, 32)
	p.must(err)
	return address, int32(number)
}

func (p *patient) answer(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/readyz" || r.URL.Path == "/readyz/clock":
	case r.URL.Path == "/readyz/store" && p.storeDown.Load():
		http.Error(w, "internal server error: the store https://s3.example.com cannot be used: it refuses the credentials",
			http.StatusInternalServerError)
	default:
		http.NotFound(w, r)
	}
}

// addTeam is a team with all that it needs.
func (p *patient) addTeam() {
	team := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: p.namespace[:min(len(p.namespace), 63)]}}
	p.must(p.Create(p.Context(), team))
	team.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Active", ObservedGeneration: team.Generation,
		LastTransitionTime: metav1.Now(),
	}}
	p.must(p.Status().Update(p.Context(), team))
	p.must(p.Create(p.Context(), &v1alpha1.APIKey{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "ci"}, Spec: v1alpha1.APIKeySpec{SHA256: strings.Repeat("a", 64)},
	}))
}

// feignKubelet runs the pod of the first Job in the namespace of the team, until it is told to stop.
func (p *patient) feignKubelet() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		jobs := &batchv1.JobList{}
		_ = poll.Wait(poll.Limit, "there is a Job", func() string {
			select {
			case <-done:
				return ""
			default:
			}
			if err := p.List(p.Context(), jobs, client.InNamespace(p.namespace)); err != nil || len(jobs.Items) == 0 {
				return fmt.Sprintf("%d Jobs, %v", len(jobs.Items), err)
			}
			return ""
		})
		if len(jobs.Items) > 0 {
			p.runPod(&jobs.Items[0])
		}
	}()
	return func() { close(done); <-ended }
}

// runPod says that the first address answers, and that the others cannot be resolved.
func (p *patient) runPod(j *batchv1.Job) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: j.Namespace, Name: j.Name,
		Labels: map[string]string{batchv1.JobNameLabel: j.Name}}, Spec: j.Spec.Template.Spec}
	if err := p.Create(p.Context(), pod); err != nil {
		p.Error(err)
		return
	}
	var results []reach.Result
	for i, url := range j.Spec.Template.Spec.Containers[0].Command[2:] {
		r := reach.Result{URL: url, Addresses: []string{"10.0.0.1"}, Status: http.StatusOK}
		if i > 0 {
			r = reach.Result{URL: url, Problem: "no such host"}
		}
		results = append(results, r)
	}
	message, err := reach.Message(results)
	if err != nil {
		p.Error(err)
		return
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "reach", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}},
	}}}
	if err := p.Status().Update(p.Context(), pod); err != nil {
		p.Error(err)
	}
}

func (p *patient) doctor(args ...string) (found []doctor.Finding, code int) {
	p.Helper()
	out, log, code := program.Invoke(p.T, append([]string{"doctor", "--kubeconfig", p.kubeconfig, "-o", "json"}, args...)...)
	var report struct{ Findings []doctor.Finding }
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		p.Fatalf("%v: %s%s", err, out, log)
	}
	return report.Findings, code
}
