package dispatch

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// attempt is a run of the Trigger smoke on main.
func attempt(name, sha string, minutesAgo int, condition metav1.Condition) *v1alpha1.Suite {
	return &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, CreationTimestamp: metav1.NewTime(noon.Add(-time.Duration(minutesAgo) * time.Minute))},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke", UID: "uid-smoke"}, Environment: "staging", Attempt: 1,
			Deployment: v1alpha1.Deployment{Branch: "main", SHA: sha}, Variables: v1alpha1.Variables{"GREP": "@smoke"}},
		Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{condition}},
	}
}

func TestCancel(t *testing.T) {
	running, ended := attempt("running", "1", 1, v1alpha1.Running("")), attempt("ended", "2", 1, v1alpha1.Passed(""))
	h := start(t, setup{objects: acme(running, ended)})
	if err := h.Cancel(t.Context(), running, "anna"); err != nil {
		t.Fatal(err)
	}
	got := &v1alpha1.Suite{}
	if err := h.cluster.Get(t.Context(), client.ObjectKeyFromObject(running), got); err != nil {
		t.Fatal(err)
	}
	if !got.Spec.Cancel || got.Annotations[v1alpha1.AnnotationCanceledBy] != "anna" {
		t.Errorf("canceled: %v, by %q", got.Spec.Cancel, got.Annotations[v1alpha1.AnnotationCanceledBy])
	}
	if running.Spec.Cancel {
		t.Error("the object of the cache was changed")
	}
	var refusal *RefusedError
	if err := h.Cancel(t.Context(), ended, "anna"); !errors.As(err, &refusal) {
		t.Errorf("a run that has ended: %v", err)
	}
}

func TestRerun(t *testing.T) {
	failed := v1alpha1.Failed("")
	cases := map[string]struct {
		reason string
		others []client.Object
		suite  *v1alpha1.Suite
		want   string // a part of the refusal; empty: there is another attempt
	}{
		"Latest run":         {"Nothing came after it.", nil, attempt("a", "1", 5, failed), ""},
		"After an older run": {"That one is no reason.", []client.Object{attempt("older", "0", 9, failed)}, attempt("a", "1", 5, failed), ""},
		"Newer deployment":   {"The new attempt would supersede it.", []client.Object{attempt("newer", "2", 1, failed)}, attempt("a", "1", 5, failed), "newer deployment"},
		"Goes on":            {"There is nothing to repeat yet.", nil, attempt("a", "1", 5, v1alpha1.Running("")), "not ended"},
		"Another goes on":    {"Somebody was faster.", []client.Object{attempt("second", "1", 1, v1alpha1.Running(""))}, attempt("a", "1", 5, failed), "has not ended yet: second"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(append(tc.others, tc.suite, trigger("smoke"))...)})
			id, err := h.Rerun(t.Context(), tc.suite, "anna")
			if tc.want != "" {
				var refusal *RefusedError
				if !errors.As(err, &refusal) || !strings.Contains(refusal.Refused(), tc.want) {
					t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.want)
				}
				return
			}
			got := &v1alpha1.Suite{}
			if err := errors.Join(err, h.cluster.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: id}, got)); err != nil {
				t.Fatalf("%s %v", tc.reason, err)
			}
			if got.Spec.Attempt != 2 || got.Annotations[v1alpha1.AnnotationRerunBy] != "anna" || got.Spec.Variables["GREP"] != "@smoke" {
				t.Errorf("%s\ngot %+v", tc.reason, got)
			}
		})
	}
	t.Run("Without the Trigger", func(t *testing.T) {
		s := attempt("a", "1", 5, failed)
		if _, err := start(t, setup{objects: acme(s)}).Rerun(t.Context(), s, "anna"); err == nil || !strings.Contains(err.Error(), "does not exist any more") {
			t.Errorf("got %v", err)
		}
	})
}
