// Package managers starts processes of the manager for tests, which may kill them and start them again.
package managers

import (
	"cmp"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/freeport"
	"github.com/postflight-dev/postflight/test/poll"
)

// Options are those of a Process. Only the Kubeconfig is required.
type Options struct {
	Kubeconfig string   // path
	Binary     string   // default: $POSTFLIGHT_MANAGER or bin/manager
	Flags      []string // win over the common ones
	Env        []string // in addition to that of the test
	Within     []string // a command that ends in the manager's own, such as to bound its memory
	Address    string   // of the HTTP API; default: a free one
	Log        string   // path; default: a file that ends with the test
}

// Process keeps its addresses and its log when it is killed and started again. It is killed at the end of the test, and the
// end of its log is shown if the test has failed.
type Process struct {
	URL     string // of the HTTP API
	Probes  string
	Metrics string
	Log     string // path of the file that all its lives write to
	Args    []string

	t     testing.TB
	o     Options
	cmd   *exec.Cmd     // nil: it has not been started, or was killed
	ended chan struct{} // closed when it has ended
	err   error         // of the end
}

// New prepares a process without starting it. It listens on ports of its own.
func New(t testing.TB, o Options) *Process {
	t.Helper()
	if o.Address == "" {
		o.Address = freeport.Address(t)
	}
	if o.Log == "" {
		o.Log = filepath.Join(t.TempDir(), "log")
	}
	api, probes, metrics := o.Address, freeport.Address(t), freeport.Address(t)
	p := &Process{URL: "http://" + api, Probes: "http://" + probes, Metrics: "http://" + metrics, Log: o.Log, t: t, o: o}
	p.Args = append([]string{
		"--kubeconfig=" + o.Kubeconfig, "--bind-address=" + api, "--health-probe-bind-address=" + probes,
		"--metrics-bind-address=" + metrics, "--metrics-auth=false", "--drain-delay=0s",
	}, o.Flags...)
	_ = os.Remove(p.Log)
	t.Cleanup(p.end)
	return p
}

// Start starts a process. It does not wait until it is ready.
func Start(t testing.TB, o Options) *Process {
	t.Helper()
	p := New(t, o)
	p.Start()
	return p
}

func (p *Process) end() {
	p.Kill()
	if p.t.Failed() {
		content, _ := os.ReadFile(p.Log)
		p.t.Logf("--- the end of the log of the manager at %s\n%s", p.URL, content[max(0, len(content)-6000):])
	}
}

// binary skips the test without a binary, or fails it if CI=true.
func (p *Process) binary() string {
	p.t.Helper()
	root, err := apiserver.Root()
	if err != nil {
		p.t.Fatal(err)
	}
	binary := cmp.Or(p.o.Binary, os.Getenv("POSTFLIGHT_MANAGER"), filepath.Join(root, "bin", "manager"))
	if _, err := os.Stat(binary); err != nil {
		missing := p.t.Skipf
		if os.Getenv("CI") == "true" {
			missing = p.t.Fatalf
		}
		missing("SKIPPED, NOT PASSED: there is no manager to test; build it by `make manager`: %v", err)
	}
	return binary
}

// Start starts it, or starts it again.
func (p *Process) Start() {
	p.t.Helper()
	command := append(append(append([]string{}, p.o.Within...), p.binary()), p.Args...)
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	cmd, ended := exec.Command(command[0], command[1:]...), make(chan struct{})
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = append(os.Environ(), p.o.Env...), log, log, DieWithParent()
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.cmd, p.ended = cmd, ended
	go func() {
		p.err = cmd.Wait()
		close(ended)
	}()
}

// Ended reports whether a process that was started is gone without Kill or Wait, such as killed by the kernel.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Kill is kill -9: nothing is written, closed or handed over.
func (p *Process) Kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	<-p.ended
	p.cmd = nil
}

// Terminate asks for an orderly end.
func (p *Process) Terminate() {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
}

// Signal does not wait for what it causes.
func (p *Process) Signal(signal syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Error(err)
	}
}

// Wait waits for the end that Terminate has asked for, which must be without an error.
func (p *Process) Wait() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.cmd = nil
		if p.err != nil {
			p.t.Errorf("the manager at %s did not end properly: %v", p.URL, p.err)
		}
	case <-time.After(poll.Limit):
		p.t.Errorf("the manager at %s does not end %s after SIGTERM", p.URL, poll.Limit)
		p.Kill()
	}
}

// Stop is an orderly end.
func (p *Process) Stop() {
	p.t.Helper()
	p.Terminate()
	p.Wait()
}

// Restart kills it, starts it again, and waits until it is ready.
func (p *Process) Restart() {
	p.t.Helper()
	p.Kill()
	p.Start()
	p.AwaitReady()
}

// PID is the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// AwaitReady waits until it serves.
func (p *Process) AwaitReady() {
	p.t.Helper()
	poll.True(p.t, "the manager at "+p.URL+" is ready", func() bool {
		select {
		case <-p.ended:
			p.t.Fatalf("the manager at %s ended while it started: %v", p.URL, p.err)
		default:
		}
		return p.Ready()
	})
}

// Ready reports whether it is ready now.
func (p *Process) Ready() bool {
	resp, err := http.Get(p.Probes + "/readyz")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// AwaitLog waits until its log contains a text.
func (p *Process) AwaitLog(text string) {
	p.t.Helper()
	poll.True(p.t, "the log of the manager at "+p.URL+" has "+text, func() bool {
		content, err := os.ReadFile(p.Log)
		return err == nil && strings.Contains(string(content), text)
	})
}
