package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apikey"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func now() time.Time { return noon }

// cluster knows the user as ada, unless reviews is false, as on an API server that has none.
func cluster(reviews bool, objects ...client.Object) *Cluster {
	c := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
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
	return &Cluster{Client: c, Namespace: "acme", Pods: kubefake.NewClientset(), user: "admin@kubeconfig"}
}

func aRun(name string, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	received := metav1.NewMicroTime(noon.Add(-time.Minute))
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke", UID: "old"}, Environment: "staging", Attempt: 1,
			Deployment: v1alpha1.Deployment{Branch: "main", SHA: "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"}, ReceivedAt: &received},
		Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{v1alpha1.Running("The pod runs.")}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func failed(s *v1alpha1.Suite) {
	s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")}
}

func TestKeysCreate(t *testing.T) {
	c, out, log := console()
	k := &Keys{Cluster: cluster(true), Console: c, Now: now}
	if err := k.Create(t.Context(), NewKey{Name: "ci", Description: "CI", Expires: time.Hour}); err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(out.String())
	if apikey.Namespace(key) != "acme" || strings.Contains(log.String(), key) {
		t.Errorf("standard output %q, standard error %q: want the key once", out, log)
	}
	object := &v1alpha1.APIKey{}
	if err := k.Cluster.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: "ci"}, object); err != nil {
		t.Fatal(err)
	}
	if object.Spec.SHA256 != apikey.Digest(key) || !object.Spec.NamesNamespace || !object.Spec.ExpiresAt.Time.Equal(noon.Add(time.Hour)) || strings.Contains(fmt.Sprint(object), key) {
		t.Errorf("%+v", object.Spec)
	}
	if err := k.Create(t.Context(), NewKey{Name: "ci"}); err == nil || !strings.Contains(err.Error(), "choose another name") {
		t.Errorf("a second of the name: %v", err)
	}
}

func TestKeysCreateFromExisting(t *testing.T) {
	c, out, log := console()
	k := &Keys{Cluster: cluster(true), Console: c, Now: now}
	const old = "qawolf_0123456789abcdef"
	if err := k.Create(t.Context(), NewKey{Name: "old", Existing: old}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fmt.Sprint(out, log), old) {
		t.Errorf("a key that its owner knows is printed: %s%s", out, log)
	}
	if err := k.Create(t.Context(), NewKey{Name: "short", Existing: "hunter2"}); err == nil {
		t.Error("a key that can be guessed was taken")
	}
	if err := k.Create(t.Context(), NewKey{Name: "rival", Existing: apikey.New("rival")}); err == nil || !strings.Contains(err.Error(), "the namespace rival") {
		t.Errorf("a key that names another namespace: %v", err)
	}
	object := &v1alpha1.APIKey{}
	if err := k.Cluster.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: "old"}, object); err != nil || object.Spec.NamesNamespace {
		t.Errorf("an opaque key: %+v, %v", object.Spec, err)
	}
}

func TestKeysListAndRevoke(t *testing.T) {
	c, out, _ := console()
	expired, suspended := metav1.NewTime(noon.Add(-time.Hour)), &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "b"}}
	k := &Keys{Cluster: cluster(true, suspended,
		&v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "a"}, Spec: v1alpha1.APIKeySpec{ExpiresAt: &expired}},
		&v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "z"}}), Console: c, Now: now}
	if err := errors.Join(k.Revoke(t.Context(), "b", true), k.List(t.Context())); err != nil {
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
	if err := k.Revoke(t.Context(), "a", false); err != nil {
		t.Error(err)
	}
	if err := k.Revoke(t.Context(), "a", false); err == nil || !strings.Contains(err.Error(), "there is no APIKey") {
		t.Errorf("revoked twice: %v", err)
	}
}

func TestRunsCancel(t *testing.T) {
	for _, tc := range []struct {
		reviews bool
		want    string
	}{{true, "ada"}, {false, "admin@kubeconfig"}} {
		c, _, _ := console()
		r := &Runs{Cluster: cluster(tc.reviews, aRun("a"), aRun("b", failed)), Console: c, Now: now}
		if err := r.Cancel(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		s, _ := r.get(t.Context(), "a")
		if !s.Spec.Cancel || s.Annotations[v1alpha1.AnnotationCanceledBy] != tc.want {
			t.Errorf("cancel %v by %q, want by %q", s.Spec.Cancel, s.Annotations[v1alpha1.AnnotationCanceledBy], tc.want)
		}
		if err := r.Cancel(t.Context(), "b"); err == nil || !strings.Contains(err.Error(), "has ended already: Failed") {
			t.Errorf("a run that has ended: %v", err)
		}
	}
}

func TestRunsRerun(t *testing.T) {
	c, out, _ := console()
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "new"}}
	r := &Runs{Cluster: cluster(true, aRun("a", failed), trigger), Console: c, Now: now}
	for want := int32(2); want <= 3; want++ { // the second finds the first one's name taken
		out.Reset()
		if err := r.Rerun(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		s, err := r.get(t.Context(), strings.TrimSpace(out.String()))
		if err != nil || s.Spec.Attempt != want || s.Spec.Trigger.UID != "new" || s.Spec.ReceivedAt != nil || s.State() != "" {
			t.Errorf("%v: %+v", err, s.Spec)
		}
	}
	if err := r.Rerun(t.Context(), "nope"); err == nil || !strings.Contains(err.Error(), `there is no run "nope" in the namespace acme`) {
		t.Errorf("%v", err)
	}
}

// TestRunsRerunAfterANewerDeployment would supersede that, whose pipeline would be told of the older commit.
func TestRunsRerunAfterANewerDeployment(t *testing.T) {
	sha := func(sha string, ago time.Duration) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) {
			s.Spec.Deployment.SHA, s.Spec.SupersedeKey = sha, "main/staging"
			s.Spec.ReceivedAt = new(metav1.NewMicroTime(noon.Add(-ago)))
		}
	}
	other := func(s *v1alpha1.Suite) { s.Spec.SupersedeKey = "other/staging" }
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "old"}}
	c, _, _ := console()
	r := &Runs{Console: c, Now: now, Cluster: cluster(true, trigger, aRun("a", sha("a", time.Hour)), aRun("b", sha("b", time.Minute)),
		aRun("another-branch", sha("c", time.Second), other))}
	if err := r.Rerun(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "the run b of a newer deployment came after a") {
		t.Errorf("the older one: %v", err)
	}
	if err := r.Rerun(t.Context(), "b"); err != nil {
		t.Errorf("the newest one: %v", err)
	}
}

func TestRunsListAndShow(t *testing.T) {
	c, out, _ := console()
	other := aRun("z")
	other.Namespace = "other"
	newer := aRun("b", failed, func(s *v1alpha1.Suite) { s.Spec.ReceivedAt = &metav1.MicroTime{Time: noon} })
	r := &Runs{Cluster: cluster(true, aRun("a"), newer, other), Console: c, Now: now}
	if err := r.List(t.Context(), Filter{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "b ") || !strings.HasPrefix(lines[2], "a ") || !strings.Contains(lines[1], "5ca1ab1e0ddb ") {
		t.Errorf("want b and then a:\n%s", out)
	}
	out.Reset()
	if err := r.List(t.Context(), Filter{AllNamespaces: true, State: "Running", Limit: 1}); err != nil || strings.Count(out.String(), "Running") != 1 {
		t.Errorf("%v:\n%s", err, out)
	}
	out.Reset()
	if err := r.Show(t.Context(), "b"); err != nil || !strings.Contains(out.String(), "Exit code 1.") {
		t.Errorf("%v:\n%s", err, out)
	}
}
