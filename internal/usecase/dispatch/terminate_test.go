package dispatch

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// previewOf is the ephemeral Environment of previewURL that derives from the base.
func previewOf(base string) *v1alpha1.Environment {
	static := environmentNamed(base)
	static.UID = "uid-static"
	return suite.EphemeralEnvironment(static, previewURL, noon.Add(week))
}

func TestTerminate(t *testing.T) {
	staging, production := previewOf("staging"), previewOf("production")
	inPreview := func(s *v1alpha1.Suite) { s.Spec.Environment = staging.Name }
	cases := map[string]struct {
		reason string
		sent   notification.Termination
		kind   ErrorKind
		want   map[string][]string // runs by Environment
	}{
		"by URL":       {"each static Environment has one", notification.Termination{DeploymentURL: previewURL}, "", map[string][]string{staging.Name: {"a", "b"}, production.Name: nil}},
		"by name":      {"", notification.Termination{EnvironmentAlias: staging.Name}, "", map[string][]string{staging.Name: {"a", "b"}}},
		"by UID":       {"", notification.Termination{EnvironmentID: "uid-" + production.Name}, "", map[string][]string{production.Name: nil}},
		"unknown URL":  {"", notification.Termination{DeploymentURL: previewURL + "/"}, EnvironmentNotFound, nil},
		"unknown name": {"", notification.Termination{EnvironmentAlias: "other"}, EnvironmentNotFound, nil},
		"another team": {"its Environments are unknown", notification.Termination{EnvironmentAlias: "theirs"}, EnvironmentNotFound, nil},
		"static, name": {"it is never touched", notification.Termination{EnvironmentAlias: "staging"}, EnvironmentStatic, nil},
		"static, UID":  {"it is never touched", notification.Termination{EnvironmentID: "uid-staging"}, EnvironmentStatic, nil},
		"static, URL":  {"a URL means ephemeral ones", notification.Termination{DeploymentURL: "https://staging.example.com"}, EnvironmentNotFound, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			theirs := previewOf("theirs")
			theirs.Namespace, theirs.Name = "other", "theirs"
			h := start(t, setup{objects: acme(staging.DeepCopy(), production.DeepCopy(), theirs,
				run("b", 1, inPreview), run("a", 2, inPreview), run("ended", 3, inPreview, failed), run("elsewhere", 1))})
			before := h.environments()
			for range 2 { // it may be sent again
				got, err := h.Terminate(t.Context(), h.command(), &tc.sent)
				if kindOf(err) != tc.kind {
					t.Fatalf("%s: %v, want the kind %q", tc.reason, err, tc.kind)
				}
				var runs map[string][]string
				for _, e := range got {
					if runs == nil {
						runs = map[string][]string{}
					}
					runs[e.Environment.Name] = e.Runs
				}
				if diff := cmp.Diff(tc.want, runs); diff != "" {
					t.Errorf("%s: %s", tc.reason, diff)
				}
			}
			for name, e := range h.environments() {
				_, terminated := tc.want[name]
				if !terminated {
					if diff := cmp.Diff(before[name], e); diff != "" {
						t.Errorf("%s: %s was changed: %s", tc.reason, name, diff)
					}
					continue
				}
				if at := e.Spec.Ephemeral.ExpiresAt; !at.Time.Equal(noon.Truncate(time.Second)) || e.Annotations[v1alpha1.AnnotationTerminatedBy] != "the API key ci" {
					t.Errorf("%s expires at %s, by %q", name, at, e.Annotations[v1alpha1.AnnotationTerminatedBy])
				}
			}
		})
	}
}

// TestTerminateWhatTheCacheLacks: it may have been created a moment ago, by another replica.
func TestTerminateWhatTheCacheLacks(t *testing.T) {
	h := start(t, setup{objects: acme(previewOf("staging")), config: func(c *Config) { c.Cache = blind{c.Cache} }})
	got, err := h.Terminate(t.Context(), h.command(), &notification.Termination{DeploymentURL: previewURL})
	if err != nil || len(got) != 1 {
		t.Errorf("%d Environments, %v, want one", len(got), err)
	}
}

// blind has no Environments.
type blind struct{ client.Reader }

func (b blind) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*v1alpha1.EnvironmentList); ok {
		return nil
	}
	return b.Reader.List(ctx, list, opts...)
}

// TestTerminateWritesOnce: one that has expired, or is going, is left alone.
func TestTerminateWritesOnce(t *testing.T) {
	expired, going := previewOf("a"), previewOf("b")
	expired.Spec.Ephemeral.ExpiresAt = metav1.NewTime(noon.Add(-time.Hour))
	going.Finalizers, going.DeletionTimestamp = []string{"postflight.dev/test"}, &metav1.Time{Time: noon}
	writes := 0
	h := start(t, setup{objects: acme(expired, going, previewOf("staging")), faults: interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if writes++; writes == 1 {
				return syscall.ECONNREFUSED
			}
			return c.Patch(ctx, o, p, opts...)
		}}})
	for range 3 {
		got, err := h.Terminate(t.Context(), h.command(), &notification.Termination{DeploymentURL: previewURL})
		if err != nil || len(got) != 3 {
			t.Fatalf("%d Environments, %v, want three", len(got), err)
		}
	}
	if writes != 2 {
		t.Errorf("%d writes, want one that failed and one", writes)
	}
}

// TestDeployedAgainAfterTermination: the notification wins, and forgets who terminated.
func TestDeployedAgainAfterTermination(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	h.notify(preview)
	if _, err := h.Terminate(t.Context(), h.command(), &notification.Termination{DeploymentURL: previewURL}); err != nil {
		t.Fatal(err)
	}
	h.clock.SetTime(noon.Add(time.Minute))
	h.notify(strings.Replace(preview, sha, "other", 1))
	env := h.environments()[previewEnvironment(noon).Name]
	if by, found := env.Annotations[v1alpha1.AnnotationTerminatedBy]; found || !env.Spec.Ephemeral.ExpiresAt.After(noon.Add(week)) {
		t.Errorf("expires at %s, terminated by %q, want a life of a week", env.Spec.Ephemeral.ExpiresAt, by)
	}
}

var deniedByPolicy = status(403, metav1.StatusReasonForbidden, `environments.postflight.dev "x" is forbidden: not today`)

func TestTerminationRefused(t *testing.T) {
	h := start(t, setup{objects: acme(previewOf("staging")), faults: interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return deniedByPolicy
		}}})
	_, err := h.Terminate(t.Context(), h.command(), &notification.Termination{DeploymentURL: previewURL})
	if kindOf(err) != Rejected || !strings.Contains(message(err), "The API server refused to end the Environment") {
		t.Errorf("%v, %s", err, message(err))
	}
}
