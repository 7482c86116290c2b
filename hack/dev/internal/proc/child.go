package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	firstBackoff = 300 * time.Millisecond
	maxBackoff   = 10 * time.Second
	// A child that ran this long before it ended starts again without delay.
	stableAfter = 30 * time.Second
	// A log that is larger when its component starts is put aside as NAME.log.old.
	maxLog = 16 << 20
)

// ErrCrashed says that a child ended before it was ready.
var ErrCrashed = errors.New("crashed")

// Spec is a long-running part of the cluster.
type Spec struct {
	Name    string
	Path    string
	Args    []string
	Env     []string
	Log     string // file
	PIDFile string
	// Ready is polled until it returns nil.
	Ready func(ctx context.Context) error
	// Grace is how long the child may take to end after SIGTERM; then it is killed.
	Grace time.Duration
}

// Child is a part of the cluster that is kept running.
type Child struct {
	Spec
	spawner *Spawner
	say     func(format string, args ...any)
	stop    chan struct{}
	once    sync.Once
	ended   chan struct{} // closed when the child has ended for good
	crashed chan string   // the reason of a crash, for whoever waits for readiness

	mu  sync.Mutex
	cmd *exec.Cmd // nil while it does not run
}

// Keep starts the child and starts it again whenever it ends, until Stop.
func Keep(s *Spawner, spec Spec, say func(format string, args ...any)) *Child {
	c := &Child{Spec: spec, spawner: s, say: say,
		stop: make(chan struct{}), ended: make(chan struct{}), crashed: make(chan string, 1)}
	go c.keep()
	return c
}

func (c *Child) keep() {
	defer close(c.ended)
	backoff := firstBackoff
	for {
		started := time.Now()
		err := c.run()
		if c.stopping() {
			return
		}
		if time.Since(started) > stableAfter {
			backoff = firstBackoff
		}
		reason := fmt.Sprintf("%s ended (%s)", c.Name, describe(err))
		select {
		case c.crashed <- reason:
		default:
		}
		c.say("%s; starting it again in %s (log: %s)", reason, backoff, c.Log)
		select {
		case <-c.stop:
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

func (c *Child) stopping() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

func describe(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// run starts the child once and waits for its end.
func (c *Child) run() error {
	log, err := openLog(c.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = c.Env
	cmd.Stdout, cmd.Stderr = log, log
	if err := c.spawner.Start(cmd); err != nil {
		return err
	}
	c.set(cmd)
	defer c.set(nil)
	if c.stopping() { // Stop came before there was anything to signal
		_ = cmd.Process.Kill()
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

func (c *Child) set(cmd *exec.Cmd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmd = cmd
}

func (c *Child) signal(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd != nil {
		_ = c.cmd.Process.Signal(s)
	}
}

// WaitReady polls until the child is ready. A child that crashes before that is an error, with the
// end of its log.
func (c *Child) WaitReady(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		attempt, cancelAttempt := context.WithTimeout(ctx, 2*time.Second)
		err := c.Ready(attempt)
		cancelAttempt()
		if err == nil {
			return nil
		}
		select {
		case reason := <-c.crashed:
			return fmt.Errorf("%w: %s before it was ready\n%s", ErrCrashed, reason, c.LogTail())
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("%s was not ready after %s: %w\n%s", c.Name, timeout, err, c.LogTail())
			}
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// LogTail is the end of the log, for an error message.
func (c *Child) LogTail() string {
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

// Stop ends the child: politely, then by force. It returns when the process is gone, because etcd
// for one lets go of its port only then.
func (c *Child) Stop() {
	c.once.Do(func() { close(c.stop) })
	c.signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(c.Grace):
		c.signal(syscall.SIGKILL)
		<-c.ended
	}
}
