package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// siblings are those of all Suites, by the names of their Triggers.
func (h *harness) siblings() map[string]string {
	all := map[string]string{}
	for _, s := range h.suites() {
		all[s.Spec.Trigger.Name] = strings.Join(s.Spec.Siblings, " ")
	}
	return all
}

func TestSiblings(t *testing.T) {
	in := func(environment string) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { t.Spec.Environment = environment }
	}
	onRelease := func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release"} }
	refuses := func(name string) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { t.Spec.AllowVariables = []string{name} }
	}
	smoke := trigger("smoke")
	for name, tc := range map[string]struct {
		reason   string
		triggers []client.Object
		body     string
		change   func(*Request)
		want     map[string]string
	}{
		"alone":               {"there is no other", []client.Object{smoke}, withSHA, createMode, map[string]string{"smoke": ""}},
		"sorted":              {"as the schema shows them", []client.Object{trigger("b"), trigger("c"), trigger("a")}, withSHA, createMode, map[string]string{"a": "b c", "b": "a c", "c": "a b"}},
		"no match":            {"it tests other branches", []client.Object{smoke, trigger("release", onRelease)}, withSHA, createMode, map[string]string{"smoke": ""}},
		"another Environment": {"it says nothing of this one", []client.Object{smoke, trigger("load", in("production")), environmentNamed("production")}, withSHA, createMode, map[string]string{"smoke": "", "load": ""}},
		"ephemeral":           {"both test the one of the URL", []client.Object{smoke, trigger("load")}, preview, createMode, map[string]string{"smoke": "load", "load": "smoke"}},
		"ephemeral, other base": {"they have one each", []client.Object{smoke, trigger("load", in("production")), environmentNamed("production")}, preview, createMode,
			map[string]string{"smoke": "", "load": ""}},
		"a rollout": {"only its Environment is notified", []client.Object{smoke, trigger("load"), trigger("e2e", in("production")), environmentNamed("production")}, withSHA,
			func(r *Request) { r.Origin = FromRollout("staging") }, map[string]string{"smoke": "load", "load": "smoke"}},
		"a schedule":    {"it concerns one Trigger", []client.Object{smoke, trigger("load")}, withSHA, func(r *Request) { r.Origin = FromSchedule(smoke, noon, noon) }, map[string]string{"smoke": ""}},
		"a refused one": {"it matched, and has no run", []client.Object{smoke, trigger("load", refuses("OTHER"))}, `{"branch":"main","sha":"` + sha + `","variables":{"GREP":"x"}}`, createMode, map[string]string{"smoke": "load"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(tc.triggers...)})
			h.notify(tc.body, tc.change)
			if diff := cmp.Diff(tc.want, h.siblings()); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSiblingsAreBounded: the first 50 by name, without the Trigger itself.
func TestSiblingsAreBounded(t *testing.T) {
	objects := acme()
	for i := range 70 {
		objects = append(objects, trigger(fmt.Sprintf("t%02d", i)))
	}
	h := start(t, setup{objects: objects})
	h.notify(withSHA)
	for _, s := range h.suites() {
		all := s.Spec.Siblings
		if len(all) != 50 || !slices.IsSorted(all) || slices.Contains(all, s.Spec.Trigger.Name) || all[0] > "t01" {
			t.Errorf("%s: %v", s.Spec.Trigger.Name, all)
		}
	}
}

// TestSiblingWithoutRun: the API server takes the Suite of one Trigger, and not that of the other. The commit is not green by the one.
func TestSiblingWithoutRun(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"), trigger("load")), faults: interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if s, ok := o.(*v1alpha1.Suite); ok && s.Spec.Trigger.Name == "load" {
				return errors.New("no")
			}
			return c.Create(ctx, o, options...)
		}}})
	for _, r := range h.notify(withSHA).Triggers {
		if (r.created() != "") != (r.Trigger == "smoke") {
			t.Fatalf("%s: %s, %s", r.Trigger, r.Decision, r.Reason)
		}
	}
	h.finish(h.suites()[0].Name, "", "Passed")
	if got := h.verdict(); got.State != verdict.None || got.Requirements[0].Trigger != "load" || got.Requirements[1].State != verdict.Passed {
		t.Errorf("%s: %+v", got.State, got.Requirements)
	}
}

// TestNextAttemptsHaveSiblings: whatever asks for another attempt, it waits for the same others.
func TestNextAttemptsHaveSiblings(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"), trigger("load"))})
	for _, r := range h.notify(withSHA).Triggers {
		h.finish(r.SuiteID, "", "Failed")
		next, _, err := h.Rerun(t.Context(), h.command(), r.SuiteID)
		if err != nil || len(next.Spec.Siblings) != 1 || next.Spec.Siblings[0] == r.Trigger {
			t.Errorf("%s: %v %+v", r.Trigger, err, next)
		}
	}
}
