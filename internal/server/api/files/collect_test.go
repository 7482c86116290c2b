package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/files"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/build"
)

// otherPods have stored so many files, with so many bytes.
func otherPods(count int, bytes int64) apitest.ArtifactStore {
	all := make([]record.Artifact, count)
	for i := range all {
		all[i] = record.Artifact{Pod: fmt.Sprint("smoke-1-", i), Path: "a"}
	}
	all[0].Bytes = bytes
	return apitest.ArtifactStore{StoredFiles: all}
}

// runWithPod are the objects of a run whose pod is collecting.
func runWithPod(change ...func(*v1alpha1.Suite, *batchv1.Job, *corev1.Pod)) []client.Object {
	s := runNamed("smoke-1")
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: "smoke-1", UID: "uid-job"}}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: "smoke-1-x", UID: "uid-pod"}}
	j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("Suite"))}
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
	p.Status.Phase = corev1.PodRunning
	for _, c := range change {
		c(s, j, p)
	}
	return apitest.Acme(s, j, p)
}

func runNamed(name string, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: name, UID: types.UID("uid-" + name),
			CreationTimestamp: metav1.NewTime(apitest.Noon)},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging"},
	}, change...)
}

// counted is a run that ended with results, so many minutes after noon.
func counted(minutes int) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("")}
		s.Status.CompletionTime = &metav1.Time{Time: apitest.Noon.Add(time.Duration(minutes) * time.Minute)}
		s.Status.Results = &v1alpha1.TestResults{Tests: 1, Failed: 1}
	}
}

// podAuth knows the token of the pod smoke-1-x.
func podAuth(r *http.Request) (podfiles.Pod, error) {
	if r.Header.Get("Authorization") != "Bearer "+apitest.PodToken {
		return podfiles.Pod{}, statusError(http.StatusUnauthorized)
	}
	return podfiles.Pod{Namespace: apitest.Namespace, Name: "smoke-1-x", UID: "uid-pod"}, nil
}

type statusError int

func (e statusError) Error() string { return http.StatusText(int(e)) }

func (e statusError) HTTPStatus() int { return int(e) }

func collecting(t *testing.T, store podfiles.Store, s apitest.Setup) *apitest.World {
	t.Helper()
	if s.Objects == nil {
		s.Objects = runWithPod()
	}
	s.Config = func(c *api.Config) { c.Artifacts, c.AuthenticatePod = store, podAuth }
	h := apitest.Start(t, s)
	for _, o := range s.Objects {
		if s, ok := o.(*v1alpha1.Suite); ok {
			h.SuiteChanged(nil, s)
		}
	}
	return h
}

func asBody(request httpapi.CollectRequest) string {
	b, _ := json.Marshal(request) // strings and numbers
	return string(b)
}

func TestCollect(t *testing.T) {
	store := &apitest.ArtifactStore{}
	h := collecting(t, store, apitest.Setup{Objects: append(runWithPod(), runNamed("smoke-0", counted(-60)))})
	answer := apitest.Decode[httpapi.CollectAnswer](t,
		h.Exchange(apitest.CollectRequest(`{"files":[{"path":"junit.xml","bytes":3},{"path":"a/ü b.png","bytes":0}],"more":1}`)))
	want := httpapi.CollectAnswer{
		Run: "smoke-1",
		Files: []httpapi.CollectURL{
			{Path: "junit.xml", URL: "https://s3.example.com/1"}, {Path: "a/ü b.png", URL: "https://s3.example.com/2"},
		},
		Previous: &httpapi.PreviousResults{Run: "smoke-0", URLs: []string{"https://s3.example.com/3"}},
	}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Error(diff)
	}
	after := collecting(t, &apitest.ArtifactStore{Lost: "smoke-0"},
		apitest.Setup{Objects: append(runWithPod(), runNamed("smoke-0", counted(-60)), runNamed("smoke-00", counted(-90)))})
	answer = apitest.Decode[httpapi.CollectAnswer](t, after.Exchange(apitest.CollectRequest(`{"files":[{"path":"junit.xml","bytes":3}]}`)))
	if answer.Previous == nil || answer.Previous.Run != "smoke-00" {
		t.Errorf("after an outage of the store: %+v, want the run before it", answer.Previous)
	}
	answer = apitest.Decode[httpapi.CollectAnswer](t, h.Exchange(apitest.CollectRequest(`{"resultsBytes":99}`)))
	want = httpapi.CollectAnswer{Run: "smoke-1", Results: &httpapi.CollectURL{URL: "https://s3.example.com/4"}}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Error(diff)
	}
	directory := "acme/postflight-runs/day=2026-11-20/T120000Z-smoke-1/"
	signed := []string{
		directory + "artifacts/smoke-1-x/junit.xml 3", directory + "artifacts/smoke-1-x/a/ü b.png 0", "previous smoke-0",
		directory + "results/smoke-1-x.json 99",
	}
	if diff := cmp.Diff(signed, store.Signed); diff != "" {
		t.Error(diff)
	}
	if line := h.Audit.String(); !strings.Contains(line, `"pod":"acme/smoke-1-x"`) || !strings.Contains(line, `"files":2,"refused":0`) ||
		strings.Contains(line, "s3.example.com") {
		t.Errorf("the audit lines are %s", line)
	}
	if got := h.Counter("postflight_artifacts_total", "signed"); got != 2 {
		t.Errorf("%v files were counted, want 2", got)
	}
}

// TestCollectReadsFirst: requests that never come whole are in the way of no other pod.
func TestCollectReadsFirst(t *testing.T) {
	h := collecting(t, &apitest.ArtifactStore{}, apitest.Setup{})
	var all sync.WaitGroup
	defer all.Wait()
	never := make(chan struct{})
	defer close(never)
	for range 2 * h.Limits.Collecting {
		waits := make(chan struct{}, 1)
		all.Go(func() {
			r := apitest.CollectRequest("", func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(unfinished{waits, never}), 100 })
			h.ServeHTTP(httptest.NewRecorder(), r)
			close(waits)
		})
		<-waits
	}
	if w := h.Exchange(apitest.CollectRequest(`{"resultsBytes":99}`)); w.Code != http.StatusOK {
		t.Errorf("status %d, want 200: %s", w.Code, w.Body)
	}
}

// unfinished is a body of which nothing comes.
type unfinished struct{ waits, never chan struct{} }

func (u unfinished) Read([]byte) (int, error) {
	u.waits <- struct{}{}
	<-u.never
	return 0, io.ErrUnexpectedEOF
}

// TestCollectCountsWhatWasSigned: a pod that uploads nothing until it has all URLs gets no more of them than one that uploads at
// once.
func TestCollectCountsWhatWasSigned(t *testing.T) {
	const gib = 1 << 30
	store := &apitest.ArtifactStore{}
	h := collecting(t, store, apitest.Setup{})
	ask := func(files ...httpapi.CollectFile) (problems string) {
		t.Helper()
		for _, f := range apitest.Decode[httpapi.CollectAnswer](t,
			h.Exchange(apitest.CollectRequest(asBody(httpapi.CollectRequest{Files: files})))).Files {
			problems += f.Problem
		}
		return problems
	}
	big := func(path string) httpapi.CollectFile { return httpapi.CollectFile{Path: path, Bytes: gib} }
	for range 3 { // after a lost answer, a collector asks again for the same files
		if problem := ask(big("a"), big("b")); problem != "" {
			t.Fatalf("the same two files: %s", problem)
		}
	}
	if problem := ask(big("c")); !strings.Contains(problem, "more than the 2.0 GiB") {
		t.Errorf("a third file: %q", problem)
	}
	store.StoredFiles = []record.Artifact{{Pod: "smoke-1-x", Path: "a", Bytes: gib}, {Pod: "smoke-1-y", Path: "a", Bytes: 0}}
	if problem := ask(big("c")); !strings.Contains(problem, "more than the 2.0 GiB") {
		t.Errorf("a third file, after one is stored: %q", problem)
	}
	for i := range record.MaxArtifacts - 3 {
		if problem := ask(httpapi.CollectFile{Path: fmt.Sprint(i)}); problem != "" {
			t.Fatalf("empty file %d: %s", i, problem)
		}
	}
	if problem := ask(httpapi.CollectFile{Path: "one more"}); !strings.Contains(problem, "The run has 1000 files") {
		t.Errorf("one file more than are kept: %q", problem)
	}
}

// TestCollectLimits: what is beyond a limit gets a sentence, and the other files are signed.
func TestCollectLimits(t *testing.T) {
	type file = httpapi.CollectFile
	const gib = 1 << 30
	for name, tc := range map[string]struct {
		reason string
		stored apitest.ArtifactStore
		files  []file
		want   []string // in the problem of each file; empty: it is signed
	}{
		"Paths": {"nothing leads out of the directory", apitest.ArtifactStore{}, []file{
			{Path: "../other"}, {Path: "/etc/passwd"}, {Path: "a//b"}, {Path: "a/./b"}, {Path: `a\b`}, {Path: "a\nb"}, {Path: ""},
			{Path: strings.Repeat("a", 513)}, {Path: "postflight-runs/x"},
		}, []string{`segment ".."`, "must be relative", "empty segment", `segment "."`, "not by", "control characters", "must not be empty", "512 bytes", ""}},
		"OneGiB": {"a file may have as much", apitest.ArtifactStore{}, []file{{Path: "a", Bytes: gib}, {Path: "b", Bytes: gib + 1}},
			[]string{"", "The file has 1.0 GiB, and at most 1.0 GiB are kept."}},
		"TwoGiB": {"a smaller file may still fit", apitest.ArtifactStore{},
			[]file{{Path: "a", Bytes: gib}, {Path: "b", Bytes: gib - 1}, {Path: "c", Bytes: 2}, {Path: "d", Bytes: 1}},
			[]string{"", "", "more than the 2.0 GiB", ""}},
		"OtherPods": {"what they stored counts", otherPods(999, 2*gib-5), []file{{Path: "a", Bytes: 6}, {Path: "b", Bytes: 5}, {Path: "c"}},
			[]string{"more than the 2.0 GiB", "", "The run has 1000 files"}},
		"NothingFit": {"the run is full", otherPods(1000, 0), []file{{Path: "a"}}, []string{"The run has 1000 files"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := collecting(t, &tc.stored, apitest.Setup{})
			answer := apitest.Decode[httpapi.CollectAnswer](t, h.Exchange(apitest.CollectRequest(asBody(httpapi.CollectRequest{Files: tc.files}))))
			for i, f := range answer.Files {
				if (f.URL == "") == (tc.want[i] == "") || (f.Problem == "") != (tc.want[i] == "") || !strings.Contains(f.Problem, tc.want[i]) ||
					f.Path != tc.files[i].Path {
					t.Errorf("%s: %+v, want %q", tc.reason, f, tc.want[i])
				}
			}
			if len(answer.Files) != len(tc.files) {
				t.Errorf("%d answers to %d files", len(answer.Files), len(tc.files))
			}
		})
	}
}

func TestCollectPrevious(t *testing.T) {
	elsewhere := func(s *v1alpha1.Suite) { s.Spec.Environment = "production" }
	other := func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = "visual" }
	uncounted := func(s *v1alpha1.Suite) { s.Status.Results = nil }
	running := func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Running("")} }
	type suites []client.Object
	for name, tc := range map[string]struct {
		reason string
		suites suites
		none   bool
		want   string // the run; empty: there is none
	}{
		"First": {"no run has ended", nil, false, ""},
		"Last": {"the last end counts, and not the last creation",
			suites{runNamed("a", counted(1)), runNamed("b", counted(3)), runNamed("c", counted(2))}, false, "b"},
		"Others": {"other tests, or other places", suites{runNamed("a", counted(1), elsewhere), runNamed("b", counted(1), other)}, false,
			""},
		"Uncounted":   {"a run without results is skipped", suites{runNamed("a", counted(1)), runNamed("b", counted(2), uncounted)}, false, "a"},
		"Unfinished":  {"a run that goes on is skipped", suites{runNamed("a", counted(1)), runNamed("b", counted(2), running)}, false, "a"},
		"RecordsGone": {"its results were deleted before it", suites{runNamed("a", counted(1))}, true, ""},
		"OtherSpecies": {"another namespace has its own runs",
			suites{&v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "a"}, Spec: runNamed("").Spec,
				Status: runNamed("", counted(1)).Status}}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := collecting(t, &apitest.ArtifactStore{None: tc.none}, apitest.Setup{Objects: append(runWithPod(), tc.suites...)})
			answer := apitest.Decode[httpapi.CollectAnswer](t, h.Exchange(apitest.CollectRequest(`{}`)))
			got := ""
			if answer.Previous != nil {
				got = answer.Previous.Run
			}
			if got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestCollectFindsTheRun: only the pod of a run that goes on gets anything, and all others the same answer.
func TestCollectFindsTheRun(t *testing.T) {
	type change = func(*v1alpha1.Suite, *batchv1.Job, *corev1.Pod)
	ref := func(of func(*batchv1.Job, *corev1.Pod) *metav1.OwnerReference, set func(*metav1.OwnerReference)) change {
		return func(_ *v1alpha1.Suite, j *batchv1.Job, p *corev1.Pod) { set(of(j, p)) }
	}
	ofPod := func(_ *batchv1.Job, p *corev1.Pod) *metav1.OwnerReference { return &p.OwnerReferences[0] }
	ofJob := func(j *batchv1.Job, _ *corev1.Pod) *metav1.OwnerReference { return &j.OwnerReferences[0] }
	for name, tc := range map[string]struct {
		reason string
		change change
		status int
	}{
		"Good":     {"it is the pod of a run", func(*v1alpha1.Suite, *batchv1.Job, *corev1.Pod) {}, 200},
		"OtherPod": {"a later pod has the name", func(_ *v1alpha1.Suite, _ *batchv1.Job, p *corev1.Pod) { p.UID = "another" }, 404},
		"NoPod":    {"it is gone", func(_ *v1alpha1.Suite, _ *batchv1.Job, p *corev1.Pod) { p.Name = "another" }, 404},
		"Ended": {"a pod that has ended asks nothing",
			func(_ *v1alpha1.Suite, _ *batchv1.Job, p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, 404},
		"NoOwner":       {"somebody created it", func(_ *v1alpha1.Suite, _ *batchv1.Job, p *corev1.Pod) { p.OwnerReferences = nil }, 404},
		"OtherKind":     {"a ReplicaSet", ref(ofPod, func(r *metav1.OwnerReference) { r.Kind, r.APIVersion = "ReplicaSet", "apps/v1" }), 404},
		"OtherGroup":    {"a Job of another API", ref(ofPod, func(r *metav1.OwnerReference) { r.APIVersion = "batch.example.com/v1" }), 404},
		"OtherJob":      {"an earlier Job had the name", ref(ofPod, func(r *metav1.OwnerReference) { r.UID = "earlier" }), 404},
		"NotControlled": {"an owner is no controller", ref(ofPod, func(r *metav1.OwnerReference) { r.Controller = new(false) }), 404},
		"JobOfNone":     {"somebody created the Job", func(_ *v1alpha1.Suite, j *batchv1.Job, _ *corev1.Pod) { j.OwnerReferences = nil }, 404},
		"OtherVersion": {"a manager of another version created the Job",
			ref(ofJob, func(r *metav1.OwnerReference) { r.APIVersion = "postflight.dev/v1beta1" }), 200},
		"SuiteOfOthers": {"a Suite of another API", ref(ofJob, func(r *metav1.OwnerReference) { r.APIVersion = "example.com/v1alpha1" }), 404},
		"JobOfCronJob":  {"a CronJob did", ref(ofJob, func(r *metav1.OwnerReference) { r.Kind, r.APIVersion = "CronJob", "batch/v1" }), 404},
		"OtherSuite":    {"an earlier Suite had the name", ref(ofJob, func(r *metav1.OwnerReference) { r.UID = "earlier" }), 404},
		"Finished": {"what a run left behind does not change", func(s *v1alpha1.Suite, _ *batchv1.Job, _ *corev1.Pod) { counted(0)(s) },
			404},
	} {
		t.Run(name, func(t *testing.T) {
			store := &apitest.ArtifactStore{}
			h := collecting(t, store, apitest.Setup{Objects: runWithPod(tc.change)})
			w := h.Exchange(apitest.CollectRequest(`{"files":[{"path":"a","bytes":1}]}`))
			if w.Code != tc.status || (tc.status != 200 && apitest.Decode[httpapi.Problem](t, w).FailureMessage != files.NoRun) {
				t.Errorf("%s: %d %s", tc.reason, w.Code, w.Body)
			}
			if signed := len(store.Signed) > 0; signed != (tc.status == 200) {
				t.Errorf("%s: %v was signed", tc.reason, store.Signed)
			}
		})
	}
	for name, team := range map[string]*v1alpha1.Team{
		"no team":   {ObjectMeta: metav1.ObjectMeta{Name: "other"}},
		"two teams": {ObjectMeta: metav1.ObjectMeta{Name: "rival"}, Spec: v1alpha1.TeamSpec{Namespace: apitest.Namespace}},
	} {
		objects := runWithPod()
		if name == "no team" {
			objects = objects[1:]
		}
		h := collecting(t, &apitest.ArtifactStore{}, apitest.Setup{Objects: append(objects, team)})
		if w := h.Exchange(apitest.CollectRequest(`{}`)); w.Code != 404 {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}

func TestCollectOfASuspendedTeam(t *testing.T) {
	suspended := apitest.Team(apitest.Namespace)
	suspended.Spec.Suspended = true
	h := collecting(t, &apitest.ArtifactStore{}, apitest.Setup{Objects: append(runWithPod()[1:], suspended)})
	if w := h.Exchange(apitest.CollectRequest(`{"files":[{"path":"a","bytes":1}]}`)); w.Code != 200 {
		t.Errorf("%d %s: a run that goes on keeps its results", w.Code, w.Body)
	}
}

func TestCollectFailures(t *testing.T) {
	away := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object,
		o ...client.GetOption) error {
		return apitest.ErrRefused
	}}
	many := httpapi.CollectRequest{Files: make([]httpapi.CollectFile, 1001)}
	for name, tc := range map[string]struct {
		store  podfiles.Store
		faults interceptor.Funcs
		body   string
		change func(*http.Request)
		status int
		code   string
	}{
		"no token": {&apitest.ArtifactStore{}, interceptor.Funcs{}, `{}`, apitest.Header("Authorization"), 401, "unauthenticated"},
		"an API key": {&apitest.ArtifactStore{}, interceptor.Funcs{}, `{}`, apitest.Header("Authorization", "Bearer "+apitest.GoodKey),
			401, "unauthenticated"},
		"another method":  {&apitest.ArtifactStore{}, interceptor.Funcs{}, `{}`, apitest.Method("GET"), 405, "method_not_allowed"},
		"API server away": {&apitest.ArtifactStore{}, away, `{}`, apitest.Query(""), 503, "unavailable"},
		"no store":        {nil, interceptor.Funcs{}, `{}`, apitest.Query(""), 503, "store_not_configured"},
		"store away": {&apitest.ArtifactStore{Err: errors.New("it refuses connections")}, interceptor.Funcs{},
			`{"files":[{"path":"a"}]}`, apitest.Query(""), 503, "store_unavailable"},
		"too long": {&apitest.ArtifactStore{}, interceptor.Funcs{}, `{}`, func(r *http.Request) { r.ContentLength = 512<<10 + 1 },
			413, "body_too_large"},
		"another type": {&apitest.ArtifactStore{}, interceptor.Funcs{}, `{}`, apitest.Header("Content-Type", "text/plain"), 415,
			"unsupported_media_type"},
		"no JSON": {&apitest.ArtifactStore{}, interceptor.Funcs{}, `{`, apitest.Query(""), 400, "invalid_request"},
		"invalid UTF-8": {&apitest.ArtifactStore{}, interceptor.Funcs{}, "{\"files\":[{\"path\":\"\xff\"}]}", apitest.Query(""), 400,
			"invalid_request"},
		"a negative size": {&apitest.ArtifactStore{}, interceptor.Funcs{}, `{"files":[{"path":"a","bytes":-1}]}`, apitest.Query(""), 400,
			"invalid_request"},
		"a fraction": {&apitest.ArtifactStore{}, interceptor.Funcs{}, `{"files":[{"path":"a","bytes":1.5}]}`, apitest.Query(""), 400,
			"invalid_request"},
		"too many files": {&apitest.ArtifactStore{}, interceptor.Funcs{}, asBody(many), apitest.Query(""), 400, "invalid_request"},
		"too large results": {&apitest.ArtifactStore{}, interceptor.Funcs{}, `{"resultsBytes":8388609}`, apitest.Query(""), 400,
			"invalid_request"},
		"results below zero": {&apitest.ArtifactStore{}, interceptor.Funcs{}, `{"resultsBytes":-1}`, apitest.Query(""), 400, "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			h := collecting(t, tc.store, apitest.Setup{Faults: tc.faults})
			w := h.Exchange(apitest.CollectRequest(tc.body, tc.change))
			if got := apitest.Decode[httpapi.Problem](t, w); w.Code != tc.status || got.FailureCode != tc.code {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tc.status, tc.code)
			}
			if store, ok := tc.store.(*apitest.ArtifactStore); ok && len(store.Signed) > 0 {
				t.Errorf("%v was signed", store.Signed)
			}
		})
	}
}

// TestPodTokenIsNoKey: on every route for keys, the token of a pod is as good as none.
func TestPodTokenIsNoKey(t *testing.T) {
	h := collecting(t, &apitest.ArtifactStore{}, apitest.Setup{})
	for _, route := range h.Routes() {
		if route.Action == api.Anonymous {
			continue
		}
		r := apitest.CollectRequest(`{}`, apitest.Method(route.Method),
			apitest.Path(strings.NewReplacer("{id}", "smoke-1", "{name}", "staging").Replace(route.Path)))
		if w := h.Exchange(r); w.Code != 401 {
			t.Errorf("%s %s: %d, want 401", route.Method, route.Path, w.Code)
		}
	}
}
