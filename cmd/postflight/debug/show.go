package debug

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Result is what the command made, or found.
type Result struct {
	Run       string    `json:"run"`
	Namespace string    `json:"namespace"`
	Pod       string    `json:"pod"`
	Container string    `json:"container"`
	Until     time.Time `json:"until"`
	Tests     []string  `json:"tests,omitempty"` // command and arguments of the tests; empty: those of the image
	Commands  []string  `json:"commands"`        // ready to copy
}

func (o *Options) show(s *v1alpha1.Suite, j *batchv1.Job, p *corev1.Pod, existed bool) error {
	container := job.DebugContainer(p)
	r := Result{Run: s.Name, Namespace: s.Namespace, Pod: p.Name, Container: container, Until: o.until(p), Tests: testsOf(j, container)}
	r.Commands = []string{
		fmt.Sprintf("kubectl wait -n %s --for=condition=Ready --timeout=2m pod/%s", r.Namespace, r.Pod),
		fmt.Sprintf("kubectl exec -n %s -it %s -c %s -- sh", r.Namespace, r.Pod, r.Container),
		debugCommand(p, r.Container),
	}
	return o.Console.Result(r, func() error {
		what := "is like the one of the run, and its container " + r.Container + " waits instead of testing"
		if existed {
			what = "was there already, and waits"
		}
		o.Console.Note("The pod %s %s %s, until %s. Open a shell in it:", r.Pod, o.Place(), what, queue.HoldEnd(r.Until, o.Clock.Now()))
		o.Console.Note("  %s && \\\n  %s", r.Commands[0], r.Commands[1])
		o.Console.Note("Beside it, with the tools of another image:\n  %s", r.Commands[2])
		o.Console.Note("The tests of the run: %s", commandText(r.Tests))
		o.Console.Note("End it earlier: postflight debug %s -n %s --end", r.Run, r.Namespace)
		return nil
	})
}

// debugCommand adds what namespaces with the restricted Pod Security Standard demand, where the pod complies with it.
func debugCommand(p *corev1.Pod, container string) string {
	profile := ""
	if c := p.Spec.SecurityContext; c != nil && ptr.Deref(c.RunAsNonRoot, false) {
		profile = " --profile=restricted"
	}
	return fmt.Sprintf("kubectl debug -n %s -it %s --target=%s --image=busybox%s -- sh", p.Namespace, p.Name, container, profile)
}

// until counts from the creation of a pod that existed.
func (o *Options) until(p *corev1.Pod) time.Time {
	from := p.CreationTimestamp.Time
	if p.Status.StartTime != nil {
		from = p.Status.StartTime.Time
	}
	if from.IsZero() {
		from = o.Clock.Now()
	}
	return from.Add(time.Duration(ptr.Deref(p.Spec.ActiveDeadlineSeconds, 0)) * time.Second).UTC()
}

func testsOf(j *batchv1.Job, container string) []string {
	for _, c := range j.Spec.Template.Spec.Containers {
		if c.Name == container {
			return slices.Concat(c.Command, c.Args)
		}
	}
	return nil
}

// commandText quotes for a shell what is no plain word.
func commandText(words []string) string {
	if len(words) == 0 {
		return "the entrypoint of its image"
	}
	if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, "\n") }) {
		return "a script, which -o json prints as tests" // on one line, it would be another script
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
			quoted[i] = plaintext.ShellQuote(word)
		}
	}
	return strings.Join(quoted, " ")
}

// beside names the pod of a run that continues: it can be entered as it is.
func (o *Options) beside(s *v1alpha1.Suite, pods []corev1.Pod) error {
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil })
	if i < 0 {
		return fmt.Errorf("the run %s has not ended, and no pod of it runs. Why it waits: postflight runs show %s -n %s",
			s.Name, s.Name, s.Namespace)
	}
	p := pods[i]
	r := Result{Run: s.Name, Namespace: s.Namespace, Pod: p.Name, Container: p.Spec.Containers[0].Name}
	r.Commands = []string{debugCommand(&p, r.Container)}
	return o.Console.Result(r, func() error {
		o.Console.Note("The run %s has not ended, so its own pod %s can be entered, as long as its tests run:\n  %s", r.Run, r.Pod, r.Commands[0])
		return nil
	})
}
