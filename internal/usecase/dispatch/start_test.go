package dispatch

import (
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// verdict is that of the commit sha in staging.
func (h *harness) verdict() verdict.Verdict {
	h.t.Helper()
	var triggers v1alpha1.TriggerList
	if err := h.cluster.List(h.t.Context(), &triggers); err != nil {
		h.t.Fatal(err)
	}
	e := h.environments()["staging"]
	q := verdict.Question{Environment: &e, Commit: commit.New("", "", sha), Now: h.clock.Now()}
	for i := range triggers.Items {
		q.Triggers = append(q.Triggers, &triggers.Items[i])
	}
	for _, s := range h.suites() {
		q.Suites = append(q.Suites, &s)
	}
	return verdict.Of(q)
}

const withVariables = `{"branch":"main","sha":"` + sha + `","deployment_url":"https://x.example.com","variables":{"GREP":"x"},"repository":"acme/shop"}`

// TestStart: the first run of a Trigger is what the notification would have created, but for who asked.
func TestStart(t *testing.T) {
	release := trigger("load", func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release"} })
	h := start(t, setup{objects: acme(trigger("smoke"), release)})
	tested := h.notify(withVariables).Triggers[0].created()
	h.clock.Step(time.Minute)
	first, created, err := h.Start(t.Context(), h.command(), "load", tested)
	if err != nil || !created {
		t.Fatalf("%v %s", err, message(err))
	}
	got, want := h.suite(first.Name), h.suite(tested)
	d := got.Spec
	if d.Deployment != want.Spec.Deployment || d.Variables["GREP"] != "x" || d.Attempt != 1 || d.Trigger.Name != "load" ||
		d.Origin != v1alpha1.OriginRerun || got.Annotations[v1alpha1.AnnotationRerunBy] != "the API key ci" ||
		!d.DeployedAt.Equal(want.Spec.ReceivedAt) || len(d.Siblings) != 1 || d.Siblings[0] != "smoke" || d.SupersedeKey != "main/staging" {
		t.Errorf("%+v, annotations %v", d, got.Annotations)
	}
	if ledger.IsDeployment(got) {
		t.Error("it counts as a deployment")
	}
	h.clock.Step(time.Minute)
	if again, created, err := h.Start(t.Context(), h.command(), "load", tested); err != nil || created || again.Name != first.Name {
		t.Errorf("sent again: %v, created %v", err, created)
	}
	everywhere := release.DeepCopy()
	everywhere.Spec.Match.Branches = nil
	h.Triggers.(*match.Index).Set(everywhere)
	for _, r := range h.notify(withVariables).Triggers {
		if want := map[string]string{"smoke": tested, "load": first.Name}[r.Trigger]; r.duplicate() != want {
			t.Errorf("a notification of %s has %+v, want a duplicate of %s", r.Trigger, r, want)
		}
	}
}

// TestStartAtOnce: many ask many replicas.
func TestStartAtOnce(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"), trigger("load", func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release"} }))})
	tested := h.notify(withSHA).Triggers[0].created()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if _, _, err := h.Start(t.Context(), h.command(), "load", tested); err != nil {
				t.Error(message(err))
			}
		})
	}
	all.Wait()
	if n := len(h.suites()); n != 2 {
		t.Errorf("%d Suites, want one of each Trigger", n)
	}
}

func TestStartRefuses(t *testing.T) {
	release := func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release"} }
	staging := Command{Grant: grant.Grant{Acts: grant.Bounds{Environments: []string{"staging"}}}}
	production := Command{Grant: grant.Grant{Acts: grant.Bounds{Environments: []string{"production"}}}}
	for name, tc := range map[string]struct {
		reason  string
		trigger *v1alpha1.Trigger
		command Command
		before  func(h *harness)
		kind    ErrorKind
		says    string
	}{
		"within the bounds":   {"the sender may", trigger("load", release), staging, nil, "", ""},
		"outside the bounds":  {"the sender may not", trigger("load", release), production, nil, Forbidden, "Environments production only"},
		"no Trigger":          {"nothing says what to run", trigger("other", release), Command{}, nil, Rejected, `The Trigger "load" does not exist.`},
		"another Environment": {"it would test something else", trigger("load", release, func(t *v1alpha1.Trigger) { t.Spec.Environment = "production" }), Command{}, nil, Rejected, "starts runs in production, and not in staging"},
		"another commit": {"it would be tested", trigger("load", release), Command{}, func(h *harness) {
			h.clock.Step(time.Minute)
			h.notify(`{"branch":"main","sha":"b000000","deployment_url":"https://x.example.com"}`)
		}, Rejected, "The Trigger load is not started, because b000000 was deployed to staging after 5ca1ab1e."},
		"another Environment of the name": {"it may have another version", trigger("load", release), Command{}, (*harness).rebuild, Rejected, "was deleted and created again"},
		"a variable":                      {"the Trigger does not take it", trigger("load", release, func(t *v1alpha1.Trigger) { t.Spec.AllowVariables = []string{"OTHER"} }), Command{}, nil, Rejected, "does not accept the variable GREP"},
		"no run":                          {"it was deleted", trigger("load", release), Command{}, func(h *harness) { h.deleteSuites() }, RunNotFound, "Run not found"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(trigger("smoke"), tc.trigger, environmentNamed("production"))})
			tested := h.notify(withVariables).Triggers[0].created()
			if tc.before != nil {
				tc.before(h)
			}
			before := len(h.suites())
			c := h.command()
			c.Grant = tc.command.Grant
			_, created, err := h.Start(t.Context(), c, "load", tested)
			if kindOf(err) != tc.kind || created != (tc.kind == "") || !strings.Contains(message(err), tc.says) {
				t.Errorf("%s: created %v, %v, %s", tc.reason, created, err, message(err))
			}
			if n := len(h.suites()) - before; tc.kind != "" && n != 0 {
				t.Errorf("%s: %d more Suites", tc.reason, n)
			}
		})
	}
}

func (h *harness) deleteSuites() {
	h.t.Helper()
	if err := h.cluster.DeleteAllOf(h.t.Context(), &v1alpha1.Suite{}, client.InNamespace(namespace)); err != nil {
		h.t.Fatal(err)
	}
}

// TestStartAfterRestoredRun: a run of a backup has the name, and says nothing.
func TestStartAfterRestoredRun(t *testing.T) {
	load := trigger("load", func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release"} })
	h := start(t, setup{objects: acme(trigger("smoke"), load)})
	tested := h.notify(withSHA).Triggers[0].created()
	first, _, err := h.Start(t.Context(), h.command(), "load", tested)
	if err != nil {
		t.Fatal(message(err))
	}
	s := h.suite(first.Name)
	s.Labels[v1alpha1.LabelRestored], s.CreationTimestamp = "true", metav1.NewTime(h.clock.Now().Add(24*time.Hour))
	if err := h.cluster.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	second, created, err := h.Start(t.Context(), h.command(), "load", tested)
	if err != nil || !created || second.Spec.Attempt != 2 {
		t.Errorf("%s, created %v: %+v", message(err), created, second)
	}
}
