package podlogs_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/podlogs"
	"github.com/postflight-dev/postflight/test/apiserver"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }

// kubelet answers by the name of the container, like the real one.
func kubelet(w http.ResponseWriter, r *http.Request) {
	container := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch container {
	case "says":
		fmt.Fprint(w, "hello\n", r.URL.Query().Get("previous"), r.URL.Query().Get("tailLines"))
	case "silent":
		w.WriteHeader(http.StatusOK)
	case "long":
		io.WriteString(w, strings.Repeat("x", 3000))
	case "claims":
		fmt.Fprintln(w, "unable to retrieve container logs for containerd://0a1b: says the test")
	case "removed":
		fmt.Fprint(w, "unable to retrieve container logs for containerd://0a1b2c")
	case "unlinked":
		fmt.Fprint(w, `failed to try resolving symlinks in path "/var/log/pods/a_b/test/0.log": `+
			`lstat /var/log/pods/a_b: no such file or directory`)
	case "waits":
		http.Error(w, `container "waits" in pod "pod" is waiting to start: ContainerCreating`, http.StatusBadRequest)
	case "once":
		http.Error(w, `previous terminated container "once" in pod "pod" not found`, http.StatusBadRequest)
	case "breaks":
		http.Error(w, "rpc error: containerd is down", http.StatusInternalServerError)
	default:
		http.Error(w, `pod "pod" does not exist`, http.StatusNotFound)
	}
}

func TestOpen(t *testing.T) {
	s := apiserver.New(t)
	ns := s.Namespace(t)
	client, err := podlogs.New(s.Manager(t))
	if err != nil {
		t.Fatal(err)
	}
	containers := []string{"says", "silent", "long", "claims", "removed", "unlinked", "waits", "once", "breaks", "unknown"}
	create(t, s, ns, "pod", s.Node(t, kubelet), containers...)
	create(t, s, ns, "away", s.Node(t, nil), "says")
	create(t, s, ns, "lost", "no-such-node", "says")
	create(t, s, ns, "new", "", "says")
	for name, tc := range map[string]struct {
		reason    string
		pod       string
		container string
		options   corev1.PodLogOptions
		want      string
		err       error
	}{
		"Says": {"a log", "pod", "says", corev1.PodLogOptions{}, "hello\n", nil},
		"Previous": {"options reach the kubelet", "pod", "says", corev1.PodLogOptions{Previous: true, TailLines: new(int64(7))},
			"hello\ntrue7", nil},
		"Follow": {"a stream", "pod", "says", corev1.PodLogOptions{Follow: true}, "hello\n", nil},
		"Silent": {"a container that wrote nothing", "pod", "silent", corev1.PodLogOptions{}, "", nil},
		"Long":   {"longer than an error", "pod", "long", corev1.PodLogOptions{}, strings.Repeat("x", 3000), nil},
		"Claims": {"a test may write what it likes", "pod", "claims", corev1.PodLogOptions{},
			"unable to retrieve container logs for containerd://0a1b: says the test\n", nil},
		"Removed":       {"the kubelet says so with status 200", "pod", "removed", corev1.PodLogOptions{}, "", apierror.ErrLogGone},
		"RemovedFollow": {"the first read says so", "pod", "removed", corev1.PodLogOptions{Follow: true}, "", apierror.ErrLogGone},
		"Unlinked":      {"the kubelet says so with status 200", "pod", "unlinked", corev1.PodLogOptions{}, "", apierror.ErrLogGone},
		"NoPrevious":    {"it was not restarted", "pod", "once", corev1.PodLogOptions{Previous: true}, "", apierror.ErrLogGone},
		"Unknown":       {"the kubelet has no such pod", "pod", "unknown", corev1.PodLogOptions{}, "", apierror.ErrLogGone},
		"NoContainer":   {"the pod has no such container", "pod", "other", corev1.PodLogOptions{}, "", apierror.ErrLogGone},
		"NoPod":         {"the pod is gone", "other", "says", corev1.PodLogOptions{}, "", apierror.ErrLogGone},
		"NoNode":        {"the node is gone", "lost", "says", corev1.PodLogOptions{}, "", apierror.ErrNodeGone},
		"NotStarted":    {"the image is being pulled", "pod", "waits", corev1.PodLogOptions{}, "", apierror.ErrNotStarted},
		"NotScheduled":  {"the API server answers with no content", "new", "says", corev1.PodLogOptions{}, "", nil},
		"Broken":        {"it may work again", "pod", "breaks", corev1.PodLogOptions{}, "", apierror.ErrNodeUnreachable},
		"Away":          {"it may come back", "away", "says", corev1.PodLogOptions{}, "", apierror.ErrNodeUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.Container = tc.container
			log, err := client.Open(t.Context(), ns, tc.pod, tc.options)
			var got []byte
			if err == nil {
				defer log.Close()
				got, err = io.ReadAll(log)
			}
			if !errors.Is(err, tc.err) || err != nil && tc.err == nil || string(got) != tc.want {
				t.Errorf("%s: got %.100q, %v, want %v", tc.reason, got, err, tc.err)
			}
		})
	}
}

func create(t *testing.T, s *apiserver.Server, ns, name, node string, containers ...string) {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: corev1.PodSpec{NodeName: node}}
	for _, c := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c, Image: "test"})
	}
	if err := s.Client.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}
