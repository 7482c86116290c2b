// Package proc runs and restarts the parts of a development cluster, and finds the processes that a crash of the tool has left.
package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	firstBackoff = 300 * time.Millisecond
	maxBackoff   = 10 * time.Second
	// stableAfter is how long a child must have run to be restarted with the first backoff again.
	stableAfter = 30 * time.Second
	maxLog      = 16 << 20 // the size in bytes above which the log is renamed to NAME.log.old at the next start
)

// ErrCrashed says that a child ended before it was ready.
var ErrCrashed = errors.New("crashed")

// Check returns nil if something is ready.
type Check func(ctx context.Context) error

// Spec describes a long-running part of the cluster.
type Spec struct {
	Name    string
	Path    string
	Args    []string
	Env     []string
	Log     string // file
	PIDFile string
	Enter   func() error  // unless nil, called on the thread that starts the child, which inherits what it changes
	Ready   Check         // polled until it returns nil
	Grace   time.Duration // between SIGTERM and SIGKILL when the child is stopped
}

// Child is a part of the cluster that is kept running.
type Child struct {
	Spec
	warn    func(format string, args ...any)
	stop    context.CancelFunc
	ended   chan struct{} // closed when the child has been stopped
	crashed chan string   // the reason of a crash, for WaitReady
}

// Keep starts the child, and restarts it whenever it ends, until Stop.
func Keep(spec Spec, warn func(format string, args ...any)) *Child {
	ctx, stop := context.WithCancel(context.Background())
	c := &Child{Spec: spec, warn: warn, stop: stop, ended: make(chan struct{}), crashed: make(chan string, 1)}
	go c.keep(ctx)
	return c
}

func (c *Child) keep(ctx context.Context) {
	defer close(c.ended)
	// Linux sends the parent-death signal when the forking thread ends, so this one outlives the child.
	runtime.LockOSThread()
	backoff := firstBackoff
	for {
		started := time.Now()
		err := c.run(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("exit status 0")
		}
		if time.Since(started) > stableAfter {
			backoff = firstBackoff
		}
		reason := fmt.Sprintf("%s ended (%s)", c.Name, err)
		select {
		case c.crashed <- reason:
		default:
		}
		c.warn("%s; restarting it in %s (log: %s)", reason, backoff, c.Log)
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// run gives the child a process group of its own: Ctrl-C reaches only the supervisor, which stops everything in order.
func (c *Child) run(ctx context.Context) error {
	log, err := openLog(c.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	if c.Enter != nil {
		if err := c.Enter(); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = c.Env, log, log, childAttributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = c.Grace
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = os.WriteFile(c.PIDFile, []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o644)
	defer func() { _ = os.Remove(c.PIDFile) }()
	return cmd.Wait()
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}

// WaitReady polls until the child is ready. If it crashes before, the error has the end of its log.
func (c *Child) WaitReady(ctx context.Context, timeout time.Duration) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if last = c.Ready(attempt); last == nil {
			return true, nil
		}
		select {
		case reason := <-c.crashed:
			return false, fmt.Errorf("%w: %s before it was ready\n%s", ErrCrashed, reason, c.logTail())
		default:
			return false, nil
		}
	})
	if ctx.Err() == nil && wait.Interrupted(err) {
		return fmt.Errorf("%s was not ready after %s: %w\n%s", c.Name, timeout, last, c.logTail())
	}
	return err
}

// Dials is a readiness check: it returns nil if something listens at the address.
func Dials(network, address string) Check {
	return func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
}

func (c *Child) logTail() string {
	const maxLines, maxLength = 8, 200
	content, err := os.ReadFile(c.Log)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	lines = lines[max(0, len(lines)-maxLines):]
	for i, line := range lines {
		lines[i] = "    | " + line[:min(len(line), maxLength)]
	}
	return strings.Join(lines, "\n") + "\n    (" + c.Log + ")"
}

// Stop ends the child. It returns when the process is gone, because etcd, for example, holds its port until then.
func (c *Child) Stop() {
	c.stop()
	<-c.ended
}
