package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

// TestCollect asks for signed URLs with tokens that a real API server has issued. Only that of a pod of a run that
// goes on gets any.
func TestCollect(t *testing.T) {
	stores.Credentials(t)
	s, store := apiserver.Alone(t), stores.Rclone(t)
	m := startManager(t, apiserver.Kubeconfig(t, s.Manager(t)), 0, leads, func(o *options) {
		o.store.Options, o.store.createBucket, o.store.image, o.podURL = store.Options(), true, "postflight:test", "http://postflight.example.com"
	})
	w := newCollectWorld(t, s, m)
	good := w.pod("good", w.job)
	w.collects(good)
	w.refuses(good)
}

// collectWorld is a tenant with a run, whose Job the manager has created. The pods are made by hand: no node is there.
type collectWorld struct {
	*tenant
	t     *testing.T
	url   string
	suite *v1alpha1.Suite
	job   *batchv1.Job
}

func newCollectWorld(t *testing.T, s *apiserver.Server, m *aManager) *collectWorld {
	t.Helper()
	w := &collectWorld{tenant: newTenant(t, s), t: t, url: m.url, job: &batchv1.Job{}}
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "smoke"}}
	w.must(s.Client.Patch(t.Context(), trigger, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"results":{}}}`))))
	w.create(&corev1.ServiceAccount{ObjectMeta: w.meta("tests")})
	w.suite = w.deploy(t, m.url, "first")
	poll.True(t, "the run has a Job", func() bool { return s.Client.Get(t.Context(), client.ObjectKeyFromObject(w.suite), w.job) == nil })
	if init := w.job.Spec.Template.Spec.InitContainers; len(init) != 1 || init[0].Name != "postflight-collect" ||
		init[0].Image != "postflight:test" {
		t.Fatalf("the Job has no collector: %+v", init)
	}
	return w
}

func (w *collectWorld) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *collectWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *collectWorld) create(o client.Object) {
	w.t.Helper()
	w.must(w.s.Client.Create(w.t.Context(), o))
}

// pod creates a pod that runs, and may be controlled by a Job.
func (w *collectWorld) pod(name string, j *batchv1.Job, change ...func(*corev1.Pod)) *corev1.Pod {
	w.t.Helper()
	p := &corev1.Pod{ObjectMeta: w.meta(name), Spec: corev1.PodSpec{
		ServiceAccountName: "tests", Containers: []corev1.Container{{Name: "test", Image: "example.com/test"}},
	}}
	if j != nil {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
	}
	for _, c := range change {
		c(p)
	}
	w.create(p)
	p.Status.Phase = corev1.PodRunning
	w.must(w.s.Client.Status().Update(w.t.Context(), p))
	return p
}

// otherJob is a Job that Postflight did not create, with an owner or none.
func (w *collectWorld) otherJob(name string, owners ...metav1.OwnerReference) *batchv1.Job {
	w.t.Helper()
	j := &batchv1.Job{ObjectMeta: w.meta(name), Spec: batchv1.JobSpec{Template: w.job.Spec.Template}}
	j.Spec.Template.Labels = nil
	j.OwnerReferences = owners
	w.create(j)
	return j
}

// token is one of the ServiceAccount, bound to the pod if there is one.
func (w *collectWorld) token(p *corev1.Pod, audiences ...string) string {
	w.t.Helper()
	return w.tokenFor(time.Hour, p, audiences...)
}

func (w *collectWorld) tokenFor(life time.Duration, p *corev1.Pod, audiences ...string) string {
	w.t.Helper()
	namespace, request := w.namespace, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: audiences, ExpirationSeconds: new(int64(life.Seconds())),
	}}
	if p != nil {
		namespace = p.Namespace
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tests"}}
	w.must(w.s.Client.SubResource("token").Create(w.t.Context(), account, request))
	return request.Status.Token
}

// ask posts a request with a bearer, and returns the status and the body.
func (w *collectWorld) ask(path, bearer, body string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+path, strings.NewReader(body))
	w.must(err)
	r.Header.Set("Authorization", "Bearer "+bearer)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	w.must(err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	w.must(err)
	return resp.StatusCode, string(content)
}

const collectBody = `{"files":[{"path":"reports/junit.xml","bytes":5}]}`

// collects uploads a file as the collector does.
func (w *collectWorld) collects(p *corev1.Pod) {
	w.t.Helper()
	var status int
	var body string
	poll.True(w.t, "the store is known", func() bool {
		status, body = w.ask("/api/v0/collect", w.token(p, job.TokenAudience), collectBody)
		return status != http.StatusServiceUnavailable
	})
	var answer httpapi.CollectAnswer
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || len(answer.Files) != 1 ||
		answer.Run != w.suite.Name {
		w.t.Fatalf("%d %s, %v", status, body, err)
	}
	for content, want := range map[string]int{"four": http.StatusForbidden, "fiver": http.StatusOK} {
		put, err := http.NewRequestWithContext(w.t.Context(), http.MethodPut, answer.Files[0].URL, strings.NewReader(content))
		w.must(err)
		put.Header.Set("Content-Type", "application/octet-stream")
		resp, err := http.DefaultClient.Do(put)
		w.must(err)
		resp.Body.Close()
		if resp.StatusCode != want {
			w.t.Errorf("PUT of %d bytes: %d, want %d", len(content), resp.StatusCode, want)
		}
	}
}

// refuses checks every way in which an attacker might try to get a URL.
func (w *collectWorld) refuses(good *corev1.Pod) {
	w.t.Helper()
	labels := func(p *corev1.Pod) {
		p.Labels = map[string]string{v1alpha1.LabelSuite: w.suite.Name, batchv1.JobNameLabel: w.job.Name}
	}
	earlier := w.job.DeepCopy()
	earlier.UID = "9a3a6f0a-0000-4000-8000-000000000000"
	foreign := metav1.NewControllerRef(w.suite, v1alpha1.GroupVersion.WithKind("Suite"))
	foreign.UID = earlier.UID
	ended := w.pod("ended", w.job)
	ended.Status.Phase = corev1.PodSucceeded
	w.must(w.s.Client.Status().Update(w.t.Context(), ended))
	for name, tc := range map[string]struct {
		bearer string
		status int
	}{
		"an API key":                     {"pf_" + w.namespace, 401},
		"no token":                       {"a.b.c", 401},
		"the audience of the API":        {w.token(good), 401},
		"another audience":               {w.token(good, "vault"), 401},
		"an expired token":               {w.expired(good), 401},
		"a token that was changed":       {w.tampered(good), 401},
		"the audience of hooks, no run":  {w.token(w.pod("hook", nil), serviceaccount.Audience), 404},
		"a ServiceAccount without pod":   {w.token(nil, job.TokenAudience), 401},
		"a pod that is gone":             {w.tokenOfGone("gone"), 401},
		"a pod that came again":          {w.tokenOfRecreated("recreated"), 401},
		"a pod of nothing":               {w.token(w.pod("alone", nil), job.TokenAudience), 404},
		"a pod with forged labels":       {w.token(w.pod("labeled", nil, labels), job.TokenAudience), 404},
		"a pod of an earlier Job":        {w.token(w.pod("earlier", earlier), job.TokenAudience), 404},
		"a pod of somebody's Job":        {w.token(w.pod("own", w.otherJob("own")), job.TokenAudience), 404},
		"a pod of a Job of no Suite":     {w.token(w.pod("foreign", w.otherJob("foreign", *foreign)), job.TokenAudience), 404},
		"a pod that has ended":           {w.token(ended, job.TokenAudience), 404},
		"a pod of a namespace of no one": {w.tokenElsewhere(), 404},
	} {
		w.t.Run(name, func(t *testing.T) {
			status, body := w.ask("/api/v0/collect", tc.bearer, collectBody)
			if status != tc.status || strings.Contains(body, "X-Amz-") {
				t.Errorf("%d %s, want %d", status, body, tc.status)
			}
		})
	}
	if status, body := w.ask("/api/webhooks/deploy_success", w.token(good, job.TokenAudience), `{}`); status != 401 {
		w.t.Errorf("a notification with the token of a pod: %d %s", status, body)
	}
	w.end()
	poll.True(w.t, "the end of the run is known", func() bool {
		status, _ := w.ask("/api/v0/collect", w.token(good, job.TokenAudience), collectBody)
		return status == 404
	})
}

func (w *collectWorld) tokenOfGone(name string) string {
	p := w.pod(name, w.job)
	token := w.token(p, job.TokenAudience)
	w.must(w.s.Client.Delete(w.t.Context(), p, client.GracePeriodSeconds(0)))
	return token
}

func (w *collectWorld) tokenOfRecreated(name string) string {
	token := w.tokenOfGone(name)
	w.pod(name, w.job)
	return token
}

// tokenElsewhere is the token of a pod in a namespace without a Team. Its Job claims to belong to a Suite there.
func (w *collectWorld) tokenElsewhere() string {
	w.t.Helper()
	other := *w
	other.tenant = &tenant{s: w.s, namespace: w.s.Namespace(w.t)}
	other.create(&corev1.ServiceAccount{ObjectMeta: other.meta("tests")})
	s := &v1alpha1.Suite{ObjectMeta: other.meta("smoke"), Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke"},
		Environment: "staging"}}
	other.create(s)
	j := other.otherJob("smoke", *metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("Suite")))
	return other.token(other.pod("smoke-1", j), job.TokenAudience)
}

// expired is a token that was good an hour ago. The same one with its own times is good, so only the times are wrong.
func (w *collectWorld) expired(p *corev1.Pod) string {
	w.t.Helper()
	now := float64(time.Now().Unix())
	good := w.resigned(p, func(claims map[string]any) { claims["exp"] = now + 600 })
	if status, body := w.ask("/api/v0/collect", good, collectBody); status != http.StatusOK {
		w.t.Fatalf("a token that was signed again: %d %s", status, body)
	}
	return w.resigned(p, func(claims map[string]any) { claims["exp"], claims["iat"], claims["nbf"] = now-60, now-3600, now-3600 })
}

// resigned is a token of the pod with other claims, and the API server's signature.
func (w *collectWorld) resigned(p *corev1.Pod, change func(map[string]any)) string {
	w.t.Helper()
	parts := strings.Split(w.token(p, job.TokenAudience), ".")
	claims := map[string]any{}
	content, err := base64.RawURLEncoding.DecodeString(parts[1])
	w.must(err)
	w.must(json.Unmarshal(content, &claims))
	change(claims)
	content, err = json.Marshal(claims)
	w.must(err)
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(content)
	digest := sha256.Sum256([]byte(signed))
	x, y, err := ecdsa.Sign(rand.Reader, w.s.SigningKey(w.t), digest[:])
	w.must(err)
	signature := append(x.FillBytes(make([]byte, 32)), y.FillBytes(make([]byte, 32))...) // ES256
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// tampered is a token that claims to be of another pod.
func (w *collectWorld) tampered(p *corev1.Pod) string {
	w.t.Helper()
	parts := strings.Split(w.token(w.pod("tampers", nil), job.TokenAudience), ".")
	content, err := base64.RawURLEncoding.DecodeString(parts[1])
	w.must(err)
	content = bytes.ReplaceAll(content, []byte(`"tampers"`), []byte(`"`+p.Name+`"`))
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(content) + "." + parts[2]
}

// end ends the run, by hand.
func (w *collectWorld) end() {
	w.t.Helper()
	s := &v1alpha1.Suite{}
	w.must(w.s.Client.Get(w.t.Context(), client.ObjectKeyFromObject(w.suite), s))
	was := s.DeepCopy()
	c := v1alpha1.Failed("Ended by the test.")
	c.LastTransitionTime = metav1.Now()
	s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{c}, new(metav1.Now())
	w.must(w.s.Client.Status().Patch(w.t.Context(), s, client.MergeFrom(was)))
}
