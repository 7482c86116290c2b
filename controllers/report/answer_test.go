package report_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
)

// TestAnswer: the comment shows the answer to the last command in one line of code, when the answer is there, after the run has ended, and
// when a later attempt writes the comment again.
func TestAnswer(t *testing.T) {
	t.Parallel()
	w := besideWorld(t)
	w.gitHub.Open(codehost.PullRequest{Number: 5})
	in5 := func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = 5 }
	w.Start(build.Suite("one", 0, build.OfTrigger("app"), tests(build.Commit(1)), in5))
	w.Exits("one", 1)
	w.complete("one", 5)
	shows := func(text string) {
		t.Helper()
		w.Eventually("the comment shows "+text, func() string {
			all := w.gitHub.Comments(5)
			if len(all) != 1 || strings.Count(all[0], text) != 1 {
				return fmt.Sprintf("%q", all)
			}
			return ""
		})
	}
	s := build.Suite("one", 0)
	keep := func(id int64, text string) {
		t.Helper()
		w.Change(s, func(o client.Object) {
			annotations := o.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[v1alpha1.AnnotationAnswer] = report.NewAnswer(id, o.GetCreationTimestamp().Time, text).Annotation()
			o.SetAnnotations(annotations)
		})
	}
	keep(7, "alice: app (staging) ended: failed.")
	shows("\n`alice: app (staging) ended: failed.`\n")
	keep(8, "mallory: @everyone [win](https://evil.example) <b>`x`</b>")
	shows("\n`` mallory: @everyone [win](https://evil.example) <b>`x`</b> ``\n")
	w.Await("the run knows what the comment shows", s, func() bool { return s.Status.Report.PullRequest.Answered == 8 })
	w.Start(build.Suite("two", 1, build.OfTrigger("app"), tests(build.Commit(1)), in5, attempt(2)))
	w.comments(w.gitHub, 5, "app: The tests are running")
	shows("mallory")
}
