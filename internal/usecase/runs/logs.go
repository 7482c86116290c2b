package runs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
)

// LogQuery says which logs to read.
type LogQuery struct {
	Pod, Container string // empty: all pods, and the containers of the tests
	Previous       bool
	All            bool // of all containers, also from before they were restarted
}

// wants requires the name of a container that does not run tests.
func (q LogQuery) wants(l Log) bool {
	if q.All {
		return true
	}
	return (q.Pod == "" || q.Pod == l.Pod) && l.Previous == q.Previous && (l.Container == q.Container || q.Container == "" && l.OfTests)
}

// Log names the log of one container.
type Log struct {
	Pod, Container string
	Previous       bool // from before Kubernetes restarted the container
	OfTests        bool
	Live           bool   // the pod exists
	Restarts       int32  // of the container, so far
	Lost           string // a sentence: why there is no log; empty: there is one
}

func (l Log) String() string { return l.Pod + "/" + l.Container }

// Is reports whether both name the same log.
func (l Log) Is(other Log) bool {
	return l.Pod == other.Pod && l.Container == other.Container && l.Previous == other.Previous
}

// Logs returns those of pods that are gone, then those of pods that exist. With pods, the archive may be unavailable.
func (r *Reader) Logs(ctx context.Context, run *Run, q LogQuery) ([]Log, error) {
	ctx, cancel := context.WithTimeout(ctx, r.LookupTimeout)
	defer cancel()
	live, err := r.liveLogs(ctx, run, q)
	if err != nil {
		return nil, err
	}
	saved, err := r.savedLogs(ctx, run, q)
	if err != nil && len(live) == 0 {
		return nil, archiveError(err)
	}
	gone := slices.DeleteFunc(saved, func(s Log) bool { return slices.ContainsFunc(live, s.Is) })
	return append(gone, live...), nil
}

func (r *Reader) liveLogs(ctx context.Context, run *Run, q LogQuery) ([]Log, error) {
	if run.Archived() {
		return nil, nil // its pods went with it
	}
	s := run.Suite
	var pods corev1.PodList
	err := r.Live.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelSuite: s.Name})
	if err != nil {
		return nil, err
	}
	return logsOf(slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !record.IsPodOf(s, &p) }), q), nil
}

func (r *Reader) savedLogs(ctx context.Context, run *Run, q LogQuery) ([]Log, error) {
	switch {
	case run.Archived():
		return savedLogs(run.Record.Logs, q), nil
	case r.Archive == nil:
		return nil, nil
	}
	logs, err := r.Archive.Logs(ctx, run.ID)
	return savedLogs(logs, q), err
}

// logsOf returns the logs of containers that have run, in the order of pods' creation and of their containers.
func logsOf(pods []corev1.Pod, q LogQuery) (logs []Log) {
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for i := range pods {
		p, ran := &pods[i], record.Sources(pods[i:i+1])
		add := func(container string, ofTests bool) {
			for _, s := range ran {
				l := Log{Pod: p.Name, Container: container, Previous: s.Previous, OfTests: ofTests, Live: true, Restarts: restarts(p, container)}
				if s.Container == container && q.wants(l) {
					logs = append(logs, l)
				}
			}
		}
		for _, c := range p.Spec.InitContainers {
			add(c.Name, false)
		}
		for _, c := range p.Spec.Containers {
			add(c.Name, true)
		}
		for _, c := range p.Spec.EphemeralContainers {
			add(c.Name, false)
		}
	}
	return logs
}

func restarts(p *corev1.Pod, container string) int32 {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses) {
		if c.Name == container {
			return c.RestartCount
		}
	}
	return 0
}

// ours starts the names of containers that Postflight adds to a pod.
const ours = "postflight-"

// savedLogs leaves out names that no pod can have, because they could fake a line.
func savedLogs(saved []record.Log, q LogQuery) (logs []Log) {
	for _, s := range saved {
		l := Log{Pod: s.Pod, Container: s.Container, Previous: s.Previous, OfTests: !strings.HasPrefix(s.Container, ours)}
		valid := len(validation.IsDNS1123Subdomain(l.Pod)) == 0 && len(validation.IsDNS1123Label(l.Container)) == 0
		if !valid || !q.wants(l) {
			continue
		}
		if s.Bytes == 0 {
			l.Lost = s.Problem
		}
		logs = append(logs, l)
	}
	return logs
}
