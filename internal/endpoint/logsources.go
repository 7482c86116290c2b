package endpoint

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/postflight-dev/postflight/internal/record"
)

// logQuery says which logs to read.
type logQuery struct {
	pod, container string // empty: all pods, and the containers of the tests
	previous       bool
	follow         bool
	tail           int // lines; negative: all
}

func logQueryOf(u *url.URL) (q logQuery, err error) {
	p, err := parametersOf(u.RawQuery, "pod", "container", "previous", "tail", "follow")
	if err != nil {
		return q, err
	}
	q.pod, q.container = p["pod"], p["container"]
	if q.previous, err = p.boolean("previous"); err != nil {
		return q, err
	}
	if q.follow, err = p.boolean("follow"); err != nil {
		return q, err
	}
	q.follow = q.follow && !q.previous // which has ended
	q.tail, err = p.number("tail", 0, maxTail, -1)
	return q, err
}

// wants reports whether to read the log of a container. A step before the tests, or a sidecar, has to be named.
func (q logQuery) wants(pod, container string, ofTest, previous bool) bool {
	return same(q.pod, pod) && previous == q.previous && (container == q.container || q.container == "" && ofTest)
}

// logSource is the log of one container.
type logSource struct {
	pod, container string
	previous       bool
	live           bool   // the pod exists
	restarts       int32  // of the container, so far
	lost           string // a sentence: why there is no log; empty: there is one
}

func (s logSource) String() string { return s.pod + "/" + s.container }

// liveSources are the logs of containers that have run, in the order in which pods were created and list their
// containers.
func liveSources(pods []corev1.Pod, q logQuery) (sources []logSource) {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for i := range pods {
		ran := record.Sources(pods[i : i+1])
		add := func(container string, ofTest bool) {
			exists := slices.ContainsFunc(ran, func(s record.Source) bool { return s.Container == container && s.Previous == q.previous })
			if exists && q.wants(pods[i].Name, container, ofTest, q.previous) {
				sources = append(sources, logSource{
					pod: pods[i].Name, container: container, previous: q.previous, live: true, restarts: restarts(&pods[i], container),
				})
			}
		}
		for _, c := range pods[i].Spec.InitContainers {
			add(c.Name, false)
		}
		for _, c := range pods[i].Spec.Containers {
			add(c.Name, true)
		}
		for _, c := range pods[i].Spec.EphemeralContainers {
			add(c.Name, false)
		}
	}
	return sources
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

// savedSources are logs in the archive. Names that no pod can have are left out: they could fake a line.
func savedSources(logs []record.Log, q logQuery) (sources []logSource) {
	for _, l := range logs {
		valid := len(validation.IsDNS1123Subdomain(l.Pod)) == 0 && len(validation.IsDNS1123Label(l.Container)) == 0
		if !valid || !q.wants(l.Pod, l.Container, !strings.HasPrefix(l.Container, ours), l.Previous) {
			continue
		}
		s := logSource{pod: l.Pod, container: l.Container, previous: l.Previous}
		if l.Bytes == 0 {
			s.lost = l.Problem
		}
		sources = append(sources, s)
	}
	return sources
}

// joined are the logs of pods that are gone, and then those of pods that exist.
func joined(saved, live []logSource) []logSource {
	gone := slices.DeleteFunc(slices.Clone(saved), func(s logSource) bool {
		return slices.ContainsFunc(live, func(l logSource) bool { return l.String() == s.String() })
	})
	return append(gone, live...)
}
