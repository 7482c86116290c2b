package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/runs"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
)

// TestRunsRerunIsRefused: the same as by the server, with the same reason.
func TestRunsRerunIsRefused(t *testing.T) {
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "new"}}
	going := trigger.DeepCopy()
	going.Finalizers, going.DeletionTimestamp = []string{"postflight.dev/test"}, new(metav1.NewTime(noon))
	next, _ := rerun.NextAttempt(aRun("a", exitCode1), trigger, "")
	foreign := aRun(next.Name, func(s *v1alpha1.Suite) { s.Spec.Environment = "elsewhere" })
	terminating := next.DeepCopy()
	terminating.Finalizers, terminating.DeletionTimestamp = []string{"postflight.dev/test"}, new(metav1.NewTime(noon))
	last := aRun("a", exitCode1, func(s *v1alpha1.Suite) { s.Spec.Attempt = v1alpha1.MaxAttempt })
	for name, tc := range map[string]struct {
		objects []client.Object
		says    string
	}{
		"no Trigger":                   {[]client.Object{aRun("a", exitCode1)}, `the Trigger "smoke" of the run does not exist any more`},
		"the Trigger is being deleted": {[]client.Object{aRun("a", exitCode1), going}, `the Trigger "smoke" of the run does not exist any more`},
		"too many attempts":            {[]client.Object{last, trigger}, "the run a is attempt 1000000, and there can be no more"},
		"the name is taken":            {[]client.Object{aRun("a", exitCode1), trigger, foreign}, "belongs to a Suite that is not an attempt of this run"},
		"the attempt is being deleted": {[]client.Object{aRun("a", exitCode1), trigger, terminating}, "is being deleted, and is not gone yet"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := newTestConsole()
			r := testCluster(c, true, tc.objects...)
			if err := (&runs.RerunOptions{Options: onCluster(r)}).Run(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q in it", err, tc.says)
			}
		})
	}
}

// TestRunsRerunFailed: the same attempt as by the server, and the same refusals.
func TestRunsRerunFailed(t *testing.T) {
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "new"}}
	tests := func(s *v1alpha1.Suite) {
		s.Spec.Trigger.UID, s.UID = "new", "uid-a"
		s.Spec.Deployment.SHA = "5ca1ab1e"
		s.Status.Results = &v1alpha1.TestResults{Tests: 120, Passed: 117, Failed: 3, OnlyTestsFailed: true}
	}
	crashed := func(s *v1alpha1.Suite) { s.Status.Results.OnlyTestsFailed = false }
	later := aRun("later", exitCode1, func(s *v1alpha1.Suite) {
		s.Spec.Deployment.SHA, s.CreationTimestamp = "b776998a", metav1.NewTime(noon.Add(time.Hour))
		s.Spec.ReceivedAt, s.Spec.SupersedeKey = nil, "other"
	})
	for name, tc := range map[string]struct {
		run    *v1alpha1.Suite
		others []client.Object
		says   string
	}{
		"tests failed":     {aRun("a", exitCode1, tests), nil, ""},
		"a crash, too":     {aRun("a", exitCode1, tests, crashed), nil, "more than tests failed in the run a"},
		"another deployed": {aRun("a", exitCode1, tests), []client.Object{later}, "postflight runs rerun later"},
	} {
		t.Run(name, func(t *testing.T) {
			c, out, _ := newTestConsole()
			r := testCluster(c, true, append(tc.others, trigger, tc.run)...)
			err := (&runs.RerunOptions{Options: onCluster(r), Failed: true}).Run(t.Context(), "a")
			if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%v, want %q in it", err, tc.says)
			}
			next := &v1alpha1.Suite{}
			if err == nil {
				if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: strings.TrimSpace(out.String())}, next); err != nil || next.RepeatsFailedOf() != "a" {
					t.Errorf("%v %+v", err, next.Spec)
				}
			}
		})
	}
}
