package peers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/managers"
	"github.com/postflight-dev/postflight/test/poll"
)

// benchSize is a tenth with POSTFLIGHT_BENCH_SMALL=1, which shows that a benchmark works, and no figure.
func benchSize(n int) int {
	if os.Getenv("POSTFLIGHT_BENCH_SMALL") == "1" {
		return n / 10
	}
	return n
}

// program is a process of another project, until it is stopped or the test ends.
type program struct {
	t   testing.TB
	cmd *exec.Cmd
	log string // path
}

func startProgram(t testing.TB, name string, env []string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(peer(t, name), args...), log: filepath.Join(t.TempDir(), "log")}
	log, err := os.Create(p.log)
	must(t, err)
	defer log.Close()
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = append(os.Environ(), env...), log, log, managers.DieWithParent()
	must(t, p.cmd.Start())
	t.Cleanup(func() {
		p.stop()
		if text, _ := os.ReadFile(p.log); t.Failed() {
			t.Logf("%s:\n%s", name, text[max(0, len(text)-12000):])
		}
	})
	return p
}

func (p *program) pid() int { return p.cmd.Process.Pid }

func (p *program) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed, or has ended
}

// meter reads what processes have used so far, by a name for each.
type meter struct {
	s         *apiserver.Server
	processes map[string]int // their ids
}

// usage is what a load cost.
type usage struct {
	cpu      map[string]time.Duration // with those of the API server and etcd
	requests map[string]int
}

func newUsage() usage { return usage{map[string]time.Duration{}, map[string]int{}} }

func (m meter) read(t testing.TB) usage {
	t.Helper()
	u := usage{map[string]time.Duration{}, m.s.Requests(t)}
	for name, pid := range m.processes {
		used, err := apiserver.CPUOf(pid)
		must(t, err)
		u.cpu[name] = used
	}
	u.cpu["api_server"], u.cpu["etcd"] = m.s.CPU(t)
	return u
}

// measure returns what f costs.
func (m meter) measure(t testing.TB, f func()) usage {
	t.Helper()
	all := newUsage()
	all.add(m.read(t), -1)
	f()
	all.add(m.read(t), 1)
	return all
}

// settle waits until the writes that follow from a load have stopped.
func (m meter) settle(t testing.TB) {
	t.Helper()
	poll.True(t, "the writes have stopped", func() bool {
		last := writes(m.s.Requests(t))
		time.Sleep(2 * time.Second)
		return last == writes(m.s.Requests(t))
	})
}

func (u usage) add(more usage, times int) {
	for name, used := range more.cpu {
		u.cpu[name] += time.Duration(times) * used
	}
	for what, n := range more.requests {
		u.requests[what] += times * n
	}
}

// perRun is a process' CPU time in milliseconds.
func (u usage) perRun(process string, runs int) float64 {
	return 1000 * u.cpu[process].Seconds() / float64(runs)
}

func (u usage) writesPerRun(runs int) float64 { return float64(writes(u.requests)) / float64(runs) }

func writes(requests map[string]int) (n int) {
	for what, count := range requests {
		if !strings.HasPrefix(what, "GET ") && !strings.HasPrefix(what, "LIST ") {
			n += count
		}
	}
	return n
}

// describe lists the requests, the most frequent first.
func (u usage) describe(runs int) string {
	var lines []string
	for _, what := range slices.SortedFunc(maps.Keys(u.requests), func(a, b string) int { return u.requests[b] - u.requests[a] }) {
		if perRun := float64(u.requests[what]) / float64(runs); perRun >= .01 {
			lines = append(lines, fmt.Sprintf("%.2f %s", perRun, what))
		}
	}
	return strings.Join(lines, ", ")
}

// crowd are connections enough for many senders at once.
var crowd = &http.Client{Timeout: 90 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 200}}

// benchTeam is a tenant whose runs have no limit but that of its slots.
type benchTeam struct {
	namespace string
	key       string
}

func newBenchTeam(t testing.TB, s *apiserver.Server, slots int32, triggers ...*v1alpha1.Trigger) benchTeam {
	t.Helper()
	ns := s.Namespace(t)
	b := benchTeam{namespace: ns, key: "pf_" + ns}
	sum := sha256.Sum256([]byte(b.key))
	owner := build.Team(ns, "", func(t *v1alpha1.Team) {
		t.Spec.MaxConcurrentSuites, t.Spec.MaxSuites, t.Spec.MaxUnfinishedSuites = slots, new(int32(0)), new(int32(0))
	})
	must(t, s.Client.Create(t.Context(), owner))
	key := build.APIKey("ci", func(k *v1alpha1.APIKey) { k.Spec.SHA256 = hex.EncodeToString(sum[:]) })
	must(t, s.Client.Create(t.Context(), build.In(ns, key)))
	must(t, s.Client.Create(t.Context(), build.In(ns, build.Environment("staging"))))
	for _, trigger := range triggers {
		must(t, s.Client.Create(t.Context(), build.In(ns, trigger.DeepCopy())))
	}
	return b
}

// connect waits until a manager knows the team and its Triggers.
func (b benchTeam) connect(t testing.TB, p *managers.Process, triggers ...string) *client.Client {
	t.Helper()
	c, err := client.New(p.URL, b.key, client.WithHTTPClient(crowd))
	must(t, err)
	for _, trigger := range triggers {
		poll.Until(t, "the manager knows "+trigger, func() string {
			answer, err := c.Explain(t.Context(), notificationOf(trigger, "warm-up"))
			if err != nil || len(answer.Results) != 1 {
				return fmt.Sprintf("%+v %v", answer, err)
			}
			return ""
		})
	}
	return c
}

// notificationOf is for a Trigger of the deployment type. Its commit has a branch and a place of its own, so that no run supersedes another
// or makes it Inconclusive.
func notificationOf(deploymentType, sha string) client.Notification {
	return client.Notification{Branch: sha, SHA: sha, DeploymentType: deploymentType, DeploymentURL: "https://" + sha + ".example.com"}
}

// notify returns the name of the run.
func notify(t testing.TB, c *client.Client, n client.Notification) string {
	answer, err := c.Notify(t.Context(), n)
	if err != nil || len(answer.Results) != 1 || answer.Results[0].CreatedSuiteID == "" {
		t.Errorf("no run was created: %+v %v", answer, err)
		return ""
	}
	return answer.Results[0].CreatedSuiteID
}

// startLeader starts a manager that answers and leads.
func startLeader(t testing.TB, s *apiserver.Server) *managers.Process {
	t.Helper()
	err := s.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "postflight-system"}})
	if !apierrors.IsAlreadyExists(err) {
		must(t, err)
	}
	p := managers.Start(t, managers.Options{Kubeconfig: apiserver.Kubeconfig(t, s.Manager(t))})
	p.AwaitReady()
	p.AwaitLog("this replica leads")
	return p
}

// inCrowd calls do for 0 to n-1, 16 at once.
func inCrowd(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	all.Wait()
}
