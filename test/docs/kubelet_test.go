package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/history"
)

// kubelet runs the scripts of containers on this machine, without their images: those of first-team.md need only a shell.
type kubelet struct {
	t   testing.TB
	dir string

	mu   sync.Mutex
	ends map[types.UID]scriptEnd // of Jobs
}

type scriptEnd struct {
	passed  bool
	message string // of its termination
}

const terminationLog = "/dev/termination-log"

func newKubelet(t testing.TB) *kubelet {
	return &kubelet{t: t, dir: t.TempDir(), ends: map[types.UID]scriptEnd{}}
}

func (k *kubelet) cluster() *fakecluster.Cluster {
	return &fakecluster.Cluster{Pods: true, Tests: func(j *batchv1.Job) (history.Tests, time.Duration) {
		if k.end(j).passed {
			return history.Passed, 0
		}
		return history.Failed, 0
	}, Message: func(j *batchv1.Job) string { return k.end(j).message }}
}

// end runs the script of a Job once.
func (k *kubelet) end(j *batchv1.Job) scriptEnd {
	k.mu.Lock()
	defer k.mu.Unlock()
	if end, known := k.ends[j.UID]; known {
		return end
	}
	end := k.run(j.Spec.Template.Spec.Containers[0], filepath.Join(k.dir, string(j.UID)))
	k.ends[j.UID] = end
	return end
}

func (k *kubelet) run(c corev1.Container, log string) scriptEnd {
	if len(c.Command) != 3 || c.Command[0] != "sh" || c.Command[1] != "-c" {
		k.t.Errorf("the container %s runs %q, and not a script", c.Name, c.Command)
		return scriptEnd{}
	}
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(c.Command[2], terminationLog, log))
	for _, e := range c.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	err := cmd.Run()
	message, _ := os.ReadFile(log)
	return scriptEnd{passed: err == nil, message: string(bytes.TrimSpace(message))}
}
