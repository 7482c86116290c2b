package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	postflight "github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/keys"
	"github.com/postflight-dev/postflight/cmd/postflight/runs"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// testCluster knows the user as ada, unless reviews is false, as on an API server without reviews.
func testCluster(console *cli.Console, reviews bool, objects ...client.Object) access.Cluster {
	c := fake.NewClientBuilder().WithScheme(access.NewScheme()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if review, ok := o.(*authenticationv1.SelfSubjectReview); ok {
				if !reviews {
					return errors.New("no such kind")
				}
				review.Status.UserInfo.Username = "ada"
				return nil
			}
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	return access.Cluster{Output: cli.Output{Console: console}, Client: c, Namespace: "acme", Pods: kubefake.NewClientset(), User: "admin@kubeconfig", Clock: clocktesting.NewFakePassiveClock(noon)}
}

// onCluster are the options of a command about the runs of a cluster.
func onCluster(c access.Cluster) runs.Options {
	return runs.Options{Output: c.Output, Source: &runs.ClusterRuns{Cluster: &c}, Now: func() time.Time { return noon }}
}

func aRun(name string, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	received := metav1.NewMicroTime(noon.Add(-time.Minute))
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-time.Minute))},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke", UID: "old"}, Environment: "staging", Attempt: 1,
			Deployment: v1alpha1.Deployment{Branch: "main", SHA: "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"}, ReceivedAt: &received},
		Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{v1alpha1.Running("The pod runs.")}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func exitCode1(s *v1alpha1.Suite) {
	s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")}
}

func TestKeysCreate(t *testing.T) {
	c, out, log := newTestConsole()
	k := testCluster(c, true)
	if err := (&keys.CreateOptions{Cluster: k, Description: "CI", Expires: time.Hour}).Run(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(out.String())
	if apikey.Namespace(key) != "acme" || strings.Contains(log.String(), key) {
		t.Errorf("standard output %q, standard error %q: want the key once", out, log)
	}
	object := &v1alpha1.APIKey{}
	if err := k.Client.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: "ci"}, object); err != nil {
		t.Fatal(err)
	}
	if object.Spec.SHA256 != apikey.Digest(key) || !object.Spec.NamesNamespace || !object.Spec.ExpiresAt.Time.Equal(noon.Add(time.Hour)) || strings.Contains(fmt.Sprint(object), key) {
		t.Errorf("%+v", object.Spec)
	}
	if !strings.Contains(log.String(), "Warning: no Team owns the namespace acme") {
		t.Errorf("no warning that the key will be refused: %s", log)
	}
	if err := (&keys.CreateOptions{Cluster: k}).Run(t.Context(), "ci"); err == nil || !strings.Contains(err.Error(), "choose another name") {
		t.Errorf("a second of the name: %v", err)
	}
}

func TestKeysCreateFromExisting(t *testing.T) {
	c, out, log := newTestConsole()
	k := testCluster(c, true)
	const old = "qawolf_0123456789abcdef"
	if err := (&keys.CreateOptions{Cluster: k, Existing: old}).Run(t.Context(), "old"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fmt.Sprint(out, log), old) {
		t.Errorf("a key that its owner knows is printed: %s%s", out, log)
	}
	if err := (&keys.CreateOptions{Cluster: k, Existing: "hunter2"}).Run(t.Context(), "short"); err == nil {
		t.Error("a key that can be guessed was taken")
	}
	if err := (&keys.CreateOptions{Cluster: k, Existing: apikey.New("rival")}).Run(t.Context(), "rival"); err == nil || !strings.Contains(err.Error(), "the namespace rival") {
		t.Errorf("a key that names another namespace: %v", err)
	}
	object := &v1alpha1.APIKey{}
	if err := k.Client.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: "old"}, object); err != nil || object.Spec.NamesNamespace {
		t.Errorf("an opaque key: %+v, %v", object.Spec, err)
	}
}

// TestKeysCreateForGit: the manifest has the hash of the key that the file has, and nothing else shows the key.
func TestKeysCreateForGit(t *testing.T) {
	c, out, log := newTestConsole()
	file := filepath.Join(t.TempDir(), "key")
	o := &keys.CreateOptions{Cluster: access.Cluster{Output: cli.Output{Console: c}, Namespace: "acme", Clock: clocktesting.NewFakePassiveClock(noon)}, DryRun: true, KeyFile: file}
	if err := o.Run(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	key, stored := strings.TrimSpace(string(content)), v1alpha1.APIKey{}
	if err := errors.Join(err, yaml.UnmarshalStrict(out.Bytes(), &stored)); err != nil {
		t.Fatal(err)
	}
	if apikey.Namespace(key) != "acme" || stored.Spec.SHA256 != apikey.Digest(key) || stored.Namespace != "acme" || stored.Name != "ci" || !stored.Spec.NamesNamespace {
		t.Errorf("%+v of the key %s", stored, key)
	}
	if strings.Contains(out.String()+log.String(), key) {
		t.Errorf("the key is printed:\n%s%s", out, log)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := o.Run(t.Context(), "ci"); err == nil {
		t.Error("the file of another key was overwritten")
	}
}

// TestKeysRotate: the Secret has a key that works, earlier ones end after the overlap, and the keys of others do not.
func TestKeysRotate(t *testing.T) {
	c, _, log := newTestConsole()
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(d)} }
	aKey := func(name, rotation string, expires *metav1.Time) *v1alpha1.APIKey {
		return &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name, Labels: map[string]string{v1alpha1.LabelRotation: rotation}},
			Spec: v1alpha1.APIKeySpec{SHA256: apikey.Digest(name), ExpiresAt: expires}}
	}
	const day = 24 * time.Hour
	k := testCluster(c, true, aKey("ci", "", nil), aKey("ci-1", "ci", at(80*day)), aKey("ci-2", "ci", at(time.Hour)), aKey("ci-3", "ci", at(-time.Hour)),
		aKey("ci-4", "ci", at(-8*day)), aKey("other", "", at(80*day)), aKey("other-1", "other", at(80*day)))
	if err := (&keys.RotateOptions{Cluster: k, Secret: "key", Expires: 90 * day, Overlap: 7 * day}).Run(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	secret, list := &corev1.Secret{}, &v1alpha1.APIKeyList{}
	if err := errors.Join(k.Client.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: "key"}, secret), k.Client.List(t.Context(), list)); err != nil {
		t.Fatal(err)
	}
	key, got := string(secret.Data["POSTFLIGHT_API_KEY"]), map[string]string{}
	for _, stored := range list.Items {
		got[stored.Name] = "never"
		if stored.Spec.ExpiresAt != nil {
			got[stored.Name] = stored.Spec.ExpiresAt.Sub(noon).String()
		}
		if stored.Name == "ci-20261120-120000" && stored.Spec.SHA256 != apikey.Digest(key) {
			t.Errorf("the Secret has another key than %s", stored.Name)
		}
	}
	want := map[string]string{"ci-20261120-120000": "2160h0m0s", "ci": "168h0m0s", "ci-1": "168h0m0s", "ci-2": "1h0m0s", "ci-3": "-1h0m0s", "other": "1920h0m0s", "other-1": "1920h0m0s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys and when they expire: -want +got\n%s", diff)
	}
	if apikey.Namespace(key) != "acme" || strings.Contains(log.String(), key) {
		t.Errorf("key %s, log %s", key, log)
	}
	k.Clock = clocktesting.NewFakePassiveClock(noon.Add(time.Minute))
	made := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "ci-20261120-120000"}}
	if err := k.Client.Patch(t.Context(), made, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"creationTimestamp":"2026-11-20T12:00:00Z"}}`))); err != nil {
		t.Fatal(err)
	}
	if err := (&keys.RotateOptions{Cluster: k, Secret: "key", Expires: 90 * day, Overlap: 7 * day}).Run(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	if err := k.Client.List(t.Context(), list); err != nil || len(list.Items) != len(want) {
		t.Errorf("%d keys after a repetition: %v; want %d", len(list.Items), err, len(want))
	}
}

// TestKeysRotateWithoutASecret: a key that the Secret surely lacks is deleted, one that it may have is not, and earlier keys stay as they are.
func TestKeysRotateWithoutASecret(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		left int
	}{
		"refused":    {apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "key", nil), 1},
		"unanswered": {errors.New("connection reset by peer"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := newTestConsole()
			k := testCluster(c, true, &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "ci"}})
			k.Client = interceptor.NewClient(k.Client.(client.WithWatch), interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return tc.err
				},
			})
			if err := (&keys.RotateOptions{Cluster: k, Secret: "key", Expires: time.Hour, Overlap: time.Minute}).Run(t.Context(), "ci"); err == nil {
				t.Error("no error")
			}
			list := &v1alpha1.APIKeyList{}
			if err := k.Client.List(t.Context(), list); err != nil || len(list.Items) != tc.left {
				t.Errorf("%d keys are left (%v), want %d", len(list.Items), err, tc.left)
			}
			for _, stored := range list.Items {
				if stored.Name == "ci" && stored.Spec.ExpiresAt != nil {
					t.Errorf("the earlier key expires at %s", stored.Spec.ExpiresAt)
				}
			}
		})
	}
}

func TestKeysListAndRevoke(t *testing.T) {
	c, out, _ := newTestConsole()
	expired, suspended := metav1.NewTime(noon.Add(-time.Hour)), &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "b"}}
	k := testCluster(c, true, suspended,
		&v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "a"}, Spec: v1alpha1.APIKeySpec{ExpiresAt: &expired}},
		&v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "z"}})
	if err := errors.Join((&keys.RevokeOptions{Cluster: k, Suspend: true}).Run(t.Context(), "b"), (&keys.ListOptions{Cluster: k}).Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a      expired", "b      suspended"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "\nz ") {
		t.Error("another team's key is listed")
	}
	if err := (&keys.RevokeOptions{Cluster: k, Suspend: false}).Run(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := (&keys.RevokeOptions{Cluster: k, Suspend: false}).Run(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "there is no APIKey") {
		t.Errorf("revoked twice: %v", err)
	}
}

func TestRunsCancel(t *testing.T) {
	for _, tc := range []struct {
		reviews bool
		want    string
	}{{true, "ada"}, {false, "admin@kubeconfig"}} {
		c, _, log := newTestConsole()
		r := testCluster(c, tc.reviews, aRun("a"), aRun("b", exitCode1))
		o, source := &runs.CancelOptions{Options: onCluster(r)}, &runs.ClusterRuns{Cluster: &r}
		if err := o.Run(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		s, _ := source.GetSuite(t.Context(), "a")
		if !s.Spec.Cancel || s.Annotations[v1alpha1.AnnotationCanceledBy] != tc.want {
			t.Errorf("cancel %v by %q, want by %q", s.Spec.Cancel, s.Annotations[v1alpha1.AnnotationCanceledBy], tc.want)
		}
		if err := o.Run(t.Context(), "b"); err == nil || !strings.Contains(err.Error(), "has already ended: Failed") {
			t.Errorf("a run that has ended: %v", err)
		}
		s.Status.Conditions = []metav1.Condition{v1alpha1.Canceled("By ada.")}
		if err := errors.Join(r.Client.Update(t.Context(), s), o.Run(t.Context(), "a")); err != nil || !strings.Contains(log.String(), "was canceled before") {
			t.Errorf("a run that was canceled: %v\n%s", err, log)
		}
	}
}

func TestRunsRerun(t *testing.T) {
	c, out, _ := newTestConsole()
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "new"}}
	r := testCluster(c, true, aRun("a", exitCode1), trigger)
	o, source := &runs.RerunOptions{Options: onCluster(r)}, &runs.ClusterRuns{Cluster: &r}
	rerun := func(id string) *v1alpha1.Suite {
		t.Helper()
		out.Reset()
		if err := o.Run(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		s, err := source.GetSuite(t.Context(), strings.TrimSpace(out.String()))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	second := rerun("a")
	if by := second.Annotations[v1alpha1.AnnotationRerunBy]; by != "ada" {
		t.Errorf("the attempt says that %q requested it", by)
	}
	if second.Spec.Attempt != 2 || second.Spec.Trigger.UID != "new" || second.Spec.ReceivedAt != nil || second.State() != "" {
		t.Errorf("%+v", second.Spec)
	}
	if again := rerun("a"); again.Name != second.Name {
		t.Errorf("%s was started while %s goes on", again.Name, second.Name)
	}
	exitCode1(second)
	if err := r.Client.Update(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	third := rerun("a")
	if third.Spec.Attempt != 3 {
		t.Errorf("after the end of the second attempt: %+v", third.Spec)
	}
	if err := o.Run(t.Context(), third.Name); err == nil || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("a run that goes on: %v", err)
	}
	if err := o.Run(t.Context(), "nope"); err == nil || !strings.Contains(err.Error(), `there is no run "nope" in the namespace acme`) {
		t.Errorf("%v", err)
	}
}

// A rerun of a commit that was replaced would test another one, whichever branch it is of.
func TestRunsRerunAfterANewerDeployment(t *testing.T) {
	sha := func(sha string, ago time.Duration) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) {
			s.Spec.Deployment.SHA, s.Spec.SupersedeKey = sha, "main/staging"
			s.Spec.ReceivedAt = new(metav1.NewMicroTime(noon.Add(-ago)))
		}
	}
	other := func(s *v1alpha1.Suite) { s.Spec.SupersedeKey = "other/staging" }
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "old"}}
	c, _, _ := newTestConsole()
	r := testCluster(c, true, trigger, aRun("a", sha("a", time.Hour), exitCode1), aRun("b", sha("b", time.Minute), exitCode1),
		aRun("another-branch", sha("c", 2*time.Hour), other))
	if err := (&runs.RerunOptions{Options: onCluster(r)}).Run(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "b was deployed to staging after a. To test what is there: postflight runs rerun b") {
		t.Errorf("the older one: %v", err)
	}
	if err := (&runs.RerunOptions{Options: onCluster(r)}).Run(t.Context(), "b"); err != nil {
		t.Errorf("the newest one: %v", err)
	}
	r = testCluster(c, true, trigger, aRun("b", sha("b", time.Minute), exitCode1), aRun("another-branch", sha("c", time.Second), other))
	if err := (&runs.RerunOptions{Options: onCluster(r)}).Run(t.Context(), "b"); err == nil || !strings.Contains(err.Error(), "c was deployed to staging after b") {
		t.Errorf("another branch came later: %v", err)
	}
}

func TestRunsListAndShow(t *testing.T) {
	c, out, _ := newTestConsole()
	other := aRun("z")
	other.Namespace = "other"
	newer := aRun("b", exitCode1, func(s *v1alpha1.Suite) { s.CreationTimestamp = metav1.NewTime(noon) })
	r := onCluster(testCluster(c, true, aRun("a"), newer, other))
	if err := (&runs.ListOptions{Options: r}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "b ") || !strings.HasPrefix(lines[2], "a ") || !strings.Contains(lines[1], "5ca1ab1e0ddb ") {
		t.Errorf("want b and then a:\n%s", out)
	}
	out.Reset()
	r.Source.(*runs.ClusterRuns).All = true
	list := &runs.ListOptions{Options: r, AllNamespaces: true, RunFilter: postflight.RunFilter{State: "Running"}, Limit: 1}
	if err := list.Run(t.Context()); err != nil || strings.Count(out.String(), "Running") != 1 {
		t.Errorf("%v:\n%s", err, out)
	}
	r.Source.(*runs.ClusterRuns).All = false
	out.Reset()
	if err := (&runs.ShowOptions{Options: r}).Run(t.Context(), "b"); err != nil || !strings.Contains(out.String(), "Exit code 1.") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// The age is that from the creation, as kubectl shows it, even if the notification was received earlier.
func TestRunsListAge(t *testing.T) {
	c, out, _ := newTestConsole()
	run := aRun("a", func(s *v1alpha1.Suite) {
		s.Spec.ReceivedAt = new(metav1.NewMicroTime(noon.Add(-time.Hour)))
		s.CreationTimestamp = metav1.NewTime(noon.Add(-3 * time.Minute))
	})
	if err := (&runs.ListOptions{Options: onCluster(testCluster(c, true, run))}).Run(t.Context()); err != nil || !strings.Contains(out.String(), " 3m ") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestKeysCreateForATeam(t *testing.T) {
	c, _, log := newTestConsole()
	team := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}}
	err := (&keys.CreateOptions{Cluster: testCluster(c, true, team)}).Run(t.Context(), "ci")
	if err != nil || strings.Contains(log.String(), "Warning") {
		t.Errorf("%v: %s", err, log)
	}
}

func TestMissingNamespace(t *testing.T) {
	c, _, _ := newTestConsole()
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "acme")
	k := testCluster(c, true)
	for name, err := range map[string]error{
		"an error of the API server": k.ExplainError(missing, `APIKey "ci"`),
		"no runs":                    (&runs.ListOptions{Options: onCluster(k)}).Run(t.Context()),
		"no keys":                    (&keys.ListOptions{Cluster: k}).Run(t.Context()),
	} {
		if err == nil || !strings.Contains(err.Error(), "the namespace acme does not exist") {
			t.Errorf("%s: %v", name, err)
		}
	}
	k = testCluster(c, true, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme"}})
	if err := (&runs.ListOptions{Options: onCluster(k)}).Run(t.Context()); err != nil {
		t.Errorf("an empty namespace: %v", err)
	}
}

func TestKeysListShowsRefusedKeys(t *testing.T) {
	c, out, _ := newTestConsole()
	key := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "ci"}}
	key.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "NoTeam"}}
	if err := (&keys.ListOptions{Cluster: testCluster(c, true, key)}).Run(t.Context()); err != nil || !strings.Contains(out.String(), "refused (NoTeam)") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestRunsListChecks(t *testing.T) {
	cases := map[string]string{"": "", "timedout": "TimedOut", "bogus": "!"}
	for _, state := range v1alpha1.States() {
		cases[state] = state
	}
	for state, want := range cases {
		o := &runs.ListOptions{RunFilter: postflight.RunFilter{State: state}}
		if err := o.Check(); (err != nil) != (want == "!") || err == nil && o.State != want {
			t.Errorf("%q: %q, %v, want %q", state, o.State, err, want)
		}
	}
	if err := (&runs.ListOptions{RunFilter: postflight.RunFilter{SHA: "5ca1ab"}}).Check(); err == nil {
		t.Error("a commit of 6 characters was taken")
	}
}

func TestRunsShowVariablesAndInputs(t *testing.T) {
	c, out, _ := newTestConsole()
	run := aRun("a", func(s *v1alpha1.Suite) {
		s.Spec.Variables = v1alpha1.Variables{"REGION": "eu", "GITHUB_TOKEN": "hush", "apiKey": "hush"}
		s.Status.Inputs = []v1alpha1.SuiteInput{{Path: "builds/app.apk", Size: 1_500_000}}
	})
	if err := (&runs.ShowOptions{Options: onCluster(testCluster(c, true, run))}).Run(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"REGION=eu", "GITHUB_TOKEN=***", "apiKey=***", "builds/app.apk (1.5 MB)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "hush") {
		t.Errorf("a secret is shown:\n%s", out)
	}
}
