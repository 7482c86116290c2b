package outcome

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// notReady is how a run ends whose version did not answer. The container says what was seen instead.
func notReady(t *corev1.ContainerStateTerminated) string {
	return strings.TrimRight("The right version did not answer"+quoted(t.Message,
		": the init container "+job.ReadyContainer+" exited with "+exitCode(t)), ". ") +
		". Check what is deployed, or spec.ready.http of the Trigger, and notify again."
}

// probing says what the init container waits for.
func probing(j *batchv1.Job, p *corev1.Pod) State {
	asks, sha := "the right version", ""
	for c := range job.Containers(&p.Spec) {
		if c.Name == job.ReadyContainer {
			asks, sha = probed(c)
		}
	}
	if sha != "" {
		asks += " to have " + sha
	}
	return doing(fmt.Sprintf("Waiting for %s. Follow it: %s", asks, logCommands(j, p.Name, "-c "+job.ReadyContainer+" -f")))
}

// probed returns what a container asks, and for which commit.
func probed(c *corev1.Container) (address, sha string) {
	var base, path string
	unescape := strings.NewReplacer("$$", "$")
	for _, v := range c.Env {
		switch v.Name {
		case job.ReadyURLVariable:
			base = unescape.Replace(v.Value)
		case job.ReadySHAVariable:
			sha = commit.ShortSHA(plaintext.Line(unescape.Replace(v.Value), maxName))
		}
	}
	for _, arg := range c.Args {
		if value, ok := strings.CutPrefix(arg, "--"+job.ReadyPathFlag+"="); ok {
			path = unescape.Replace(value)
		}
	}
	u, err := job.ProbeURL(base, path)
	if err != nil {
		return "the right version", sha // somebody has changed the pod
	}
	return plaintext.Line(u.Redacted(), maxName), sha
}
