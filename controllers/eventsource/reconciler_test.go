package eventsource

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/gitlab"
	"github.com/postflight-dev/postflight/test/fakeclient"
)

var formats = map[v1alpha1.EventSourceType]event.Format{v1alpha1.EventsOfGitHub: github.Format(), v1alpha1.EventsOfGitLab: gitlab.Format()}

func TestReady(t *testing.T) {
	team := func(change ...func(*v1alpha1.Team)) *v1alpha1.Team {
		t := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}, Spec: v1alpha1.TeamSpec{Repositories: []string{"acme/shop"}}}
		for _, c := range change {
			c(t)
		}
		return t
	}
	suspended := func(t *v1alpha1.Team) { t.Spec.Suspended = true }
	secret := func(key, value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "postflight-events"}, Data: map[string][]byte{key: []byte(value)}}
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "postflight-events", errors.New("no role"))
	own := v1alpha1.EventSourceSpec{Type: v1alpha1.EventsOfGitLab, Secret: &v1alpha1.SecretKeyReference{Name: "postflight-events", Key: "gitlab"}}
	app := v1alpha1.EventSourceSpec{Type: v1alpha1.EventsOfGitHub}
	later := own
	later.Type = "Gitea"
	long := strings.Repeat("x", 16)
	cases := map[string]struct {
		spec    v1alpha1.EventSourceSpec
		noApp   bool // the manager takes none
		objects []client.Object
		secrets error
		reason  string
		says    string
		url     string
		again   bool // it looks at the Secret again
	}{
		"with its secret":         {own, false, []client.Object{team(), secret("gitlab", long)}, nil, "Accepted", "signed with the secret", "/api/events/acme/hooks", true},
		"without a Team":          {own, false, []client.Object{secret("gitlab", long)}, nil, "NoTeam", `namespace "acme"`, "/api/events/acme/hooks", true},
		"with two Teams":          {own, false, []client.Object{team(), team(func(t *v1alpha1.Team) { t.Name = "rival"; t.Spec.Namespace = "acme" })}, nil, "NamespaceClaimedTwice", "several Teams claim", "/api/events/acme/hooks", true},
		"without the Secret":      {own, false, []client.Object{team()}, nil, "SecretMissing", "does not exist", "/api/events/acme/hooks", true},
		"without the right":       {own, false, []client.Object{team()}, forbidden, "SecretMissing", "postflight-credentials-reader", "/api/events/acme/hooks", true},
		"without the key":         {own, false, []client.Object{team(), secret("github", long)}, nil, "SecretMissing", "no key gitlab", "/api/events/acme/hooks", true},
		"with a short secret":     {own, false, []client.Object{team(), secret("gitlab", long[1:])}, nil, "SecretUnusable", "has 15 bytes", "/api/events/acme/hooks", true},
		"with a line end":         {own, false, []client.Object{team(), secret("gitlab", long[1:]+"\n")}, nil, "SecretUnusable", "has 15 bytes", "/api/events/acme/hooks", true},
		"with an old line":        {own, false, []client.Object{team(), secret("gitlab", long+"\n"+long+"\n")}, nil, "Accepted", "signed with the secret", "/api/events/acme/hooks", true},
		"with a short line":       {own, false, []client.Object{team(), secret("gitlab", long+"\nshort")}, nil, "SecretUnusable", "has 5 bytes in its line 2", "/api/events/acme/hooks", true},
		"with five lines":         {own, false, []client.Object{team(), secret("gitlab", strings.Repeat(long+"\n", 5))}, nil, "SecretUnusable", "has 5 lines", "/api/events/acme/hooks", true},
		"with a cut token":        {own, false, []client.Object{team(), secret("gitlab", "whsec_MDEyMzQ1Njc4OTAx")}, nil, "SecretUnusable", "no signing token", "/api/events/acme/hooks", true},
		"of a suspended Team":     {own, false, []client.Object{team(suspended), secret("gitlab", long)}, nil, "TeamSuspended", "403", "/api/events/acme/hooks", true},
		"of a later version":      {later, false, []client.Object{team(), secret("gitlab", long)}, nil, "TypeUnknown", "Gitea", "/api/events/acme/hooks", true},
		"of the App":              {app, false, []client.Object{team()}, nil, "Accepted", "spec.repositories of the Team", "/api/events/github", false},
		"of the App, no Team":     {app, false, nil, nil, "NoTeam", "start nothing", "/api/events/github", false},
		"of no App":               {app, true, []client.Object{team()}, nil, "AppMissing", "--github-webhook-secret-file", "/api/events/github", false},
		"of the App, for nothing": {app, false, []client.Object{team(func(t *v1alpha1.Team) { t.Spec.Repositories = nil })}, nil, "NoRepositories", "Ask the operator", "/api/events/github", false},
		"of the App, suspended":   {app, false, []client.Object{team(suspended)}, nil, "TeamSuspended", "suspended", "/api/events/github", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			source := &v1alpha1.EventSource{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "hooks", Generation: 3}, Spec: tc.spec}
			cluster := fakeclient.Builder(t).WithObjects(append(tc.objects, source)...).WithStatusSubresource(source).Build()
			live := interceptor.NewClient(cluster, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if tc.secrets != nil {
						return tc.secrets
					}
					return c.Get(ctx, key, o, opts...)
				},
			})
			r := &Reconciler{Client: cluster, Live: live, Config: Config{Formats: formats, TakesApp: !tc.noApp}}
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(source)})
			if err != nil {
				t.Fatal(err)
			}
			if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(source), source); err != nil {
				t.Fatal(err)
			}
			ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
			if ready == nil || ready.Reason != tc.reason || (ready.Status == metav1.ConditionTrue) != (tc.reason == "Accepted") ||
				!strings.Contains(ready.Message, tc.says) || ready.ObservedGeneration != 3 {
				t.Errorf("Ready is %+v, want %s with %q", ready, tc.reason, tc.says)
			}
			if source.Status.URL != tc.url || (result.RequeueAfter > 0) != tc.again || result.RequeueAfter > 10*time.Minute {
				t.Errorf("the URL is %q, and it looks again after %s", source.Status.URL, result.RequeueAfter)
			}
		})
	}
}
