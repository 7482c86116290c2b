package session

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// A POSIX lock does not exclude its own process, so the holder is this test binary, run again.
func TestLockNamesItsHolder(t *testing.T) {
	if dir := os.Getenv("HOLD_LOCK"); dir != "" {
		held, err := lock(layout.Layout{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("held\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = held.Close()
		return
	}
	l := layout.Layout{Dir: t.TempDir()}
	if got := Supervisor(l); got != 0 {
		t.Errorf("no lock: supervisor %d", got)
	}
	holder := hold(t, l)
	if got := Supervisor(l); got != holder.Process.Pid {
		t.Errorf("supervisor %d, want %d", got, holder.Process.Pid)
	}
	if _, err := lock(l); !errors.Is(err, ErrRunning) {
		t.Errorf("a second supervisor: %v, want ErrRunning", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	if got := Supervisor(l); got != 0 {
		t.Errorf("after its end by kill -9 the supervisor is %d", got)
	}
}

// hold starts a process that holds the lock of a folder until the test ends.
func hold(t *testing.T, l layout.Layout) *exec.Cmd {
	t.Helper()
	holder := exec.Command(os.Args[0], "-test.run=^TestLockNamesItsHolder$")
	holder.Env = append(os.Environ(), "HOLD_LOCK="+l.Dir)
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = holder.Wait()
	})
	if _, err := io.ReadFull(stdout, make([]byte, len("held\n"))); err != nil {
		t.Fatal(err)
	}
	return holder
}

// TestClustersThatStartAtOnce have other ports, although they open most of them later.
func TestClustersThatStartAtOnce(t *testing.T) {
	ports := map[int]string{}
	for range 3 {
		s := &Session{layout: layout.Layout{Dir: t.TempDir()}, console: console.New(os.Stdout)}
		s.options.PortBase = layout.DefaultPortBase
		if err := s.choose(); err != nil {
			t.Fatal(err)
		}
		defer s.held.Close()
		if other := ports[s.plan.PortBase]; other != "" {
			t.Errorf("%s and %s have the ports from %d on", other, s.layout.Dir, s.plan.PortBase)
		}
		ports[s.plan.PortBase] = s.layout.Dir
	}
}

func TestStateOfAnotherSupervisorDoesNotCount(t *testing.T) {
	l := layout.Layout{Dir: t.TempDir()}
	if err := os.MkdirAll(l.Path("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := &Session{layout: l}
	s.setState(Ready, "")
	if got := ReadState(l, os.Getpid()); got.Phase != Ready {
		t.Errorf("own state: %+v, want %s", got, Ready)
	}
	if got := ReadState(l, os.Getpid()+1); got != (State{}) {
		t.Errorf("a state that another process left: %+v", got)
	}
}
