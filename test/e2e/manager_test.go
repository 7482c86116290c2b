package e2e

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/freeport"
)

// manager is one process of Postflight, that a test may kill and start again.
type manager struct {
	t       testing.TB
	c       *cluster
	url     string
	probes  string
	metrics string
	args    []string
	log     string // file that all its lives write to
	cmd     *exec.Cmd
	ended   chan struct{}
}

// options of a manager in a test.
type options struct {
	kubeconfig  string // default: the manager's own, straight to the API server
	leaderElect bool   // a single process needs none, and after kill -9 its lease would cost seconds
	flags       []string
}

var managers atomic.Int32

// newManager prepares a manager with ports of its own, without starting it.
func newManager(t testing.TB, c *cluster, o options) *manager {
	t.Helper()
	n := managers.Add(1)
	api, metrics, probes := freeport.Address(t), freeport.Address(t), freeport.Address(t)
	forPods := podProxy{t: t, address: net.JoinHostPort(c.env["POSTFLIGHT_BRIDGE_ADDRESS"], api[strings.LastIndexByte(api, ':')+1:]), server: api}
	forPods.open()
	m := &manager{
		t: t, c: c,
		url:     "http://" + api,
		probes:  "http://" + probes,
		metrics: "http://" + metrics,
		log:     filepath.Join(c.dir, "logs", fmt.Sprintf("manager-%d.log", n)),
		args: append([]string{
			"--kubeconfig=" + cmp.Or(o.kubeconfig, filepath.Join(c.dir, "manager.kubeconfig")),
			"--bind-address=" + api, "--metrics-bind-address=" + metrics, "--metrics-auth=false", "--health-probe-bind-address=" + probes,
			"--public-url=http://" + api, "--pod-url=http://" + forPods.address,
			"--leader-elect=" + strconv.FormatBool(o.leaderElect),
			"--drain-delay=0s",
		}, o.flags...),
	}
	_ = os.Remove(m.log)
	t.Cleanup(func() {
		m.kill()
		if t.Failed() {
			content, _ := os.ReadFile(m.log)
			t.Logf("--- the end of the log of the manager at %s\n%s", m.url, clip(string(content), 6000))
		}
	})
	return m
}

// runManager starts a manager and waits until it serves.
func runManager(t testing.TB, c *cluster, o options) *manager {
	t.Helper()
	m := newManager(t, c, o)
	m.start()
	m.awaitReady()
	return m
}

func (m *manager) start() {
	m.t.Helper()
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	defer log.Close()
	m.cmd = exec.Command(cmp.Or(os.Getenv(envManager), filepath.Join(root(), "bin", "manager")), m.args...)
	m.cmd.Env = os.Environ()
	for name, value := range m.c.manager {
		m.cmd.Env = append(m.cmd.Env, name+"="+value)
	}
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = dieWithParent()
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	cmd, ended := m.cmd, make(chan struct{})
	m.ended = ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
}

// kill is kill -9: nothing is written, closed or handed over any more.
func (m *manager) kill() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill()
	<-m.ended
	m.cmd = nil
}

// stop is an orderly end.
func (m *manager) stop() {
	m.t.Helper()
	_ = m.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-m.ended:
		m.cmd = nil
	case <-time.After(30 * time.Second):
		m.t.Error("the manager does not end 30 s after SIGTERM")
		m.kill()
	}
}

func (m *manager) restart() {
	m.t.Helper()
	m.kill()
	m.start()
	m.awaitReady()
}

func (m *manager) awaitReady() {
	m.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if m.ready() {
			return
		}
		select {
		case <-m.ended:
			m.t.Fatal("the manager ended while it started")
		default:
		}
	}
	m.t.Fatal("the manager is not ready after a minute")
}

func (m *manager) ready() bool {
	resp, err := http.Get(m.probes + "/readyz")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}
