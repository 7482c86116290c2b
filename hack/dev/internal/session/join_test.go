package session

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// recorder replaces the kubectl of a session by a script, and returns what reads its calls: arguments, and the file that they name.
func recorder(t *testing.T, s *Session) (calls func() string) {
	t.Helper()
	s.layout.Root = t.TempDir()
	file := filepath.Join(s.layout.Root, "calls")
	if err := os.MkdirAll(s.layout.Bin("cluster"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho \"$@\" >>" + file + "\nfor last; do :; done\ncat \"$last\" >>" + file + "\n"
	if err := os.WriteFile(s.layout.Bin("cluster", "kubectl"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return func() string {
		content, _ := os.ReadFile(file)
		_ = os.Remove(file)
		return string(content)
	}
}

func TestJoinAndLeaveHub(t *testing.T) {
	s := inFolder(t, t.TempDir(), ".dev-two", layout.Plan{PortBase: 8800, Subnet: 91})
	s.console = console.New(os.Stdout)
	calls := recorder(t, s)
	expect := func(when string, parts ...string) {
		t.Helper()
		got := calls()
		if len(parts) == 0 && got != "" {
			t.Errorf("%s: %s", when, got)
		}
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q lacks %q", when, got, part)
			}
		}
	}
	join := func() {
		t.Helper()
		if err := s.joinHub(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	leave := func() {
		t.Helper()
		if err := LeaveHub(t.Context(), s.layout, s.console); err != nil {
			t.Fatal(err)
		}
	}
	join()
	expect("there is no hub")
	addHubBeside(t, s, layout.Plan{PortBase: 8780, Subnet: 90})
	join()
	expect("the hub is stopped")
	hub, _ := s.layout.Hub()
	holder := hold(t, hub)
	phase := func(phase string) {
		t.Helper()
		content, _ := json.Marshal(State{PID: holder.Process.Pid, Phase: phase})
		if err := errors.Join(os.MkdirAll(hub.Path("run"), 0o755), os.WriteFile(hub.Path("run", "state.json"), content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	phase(Starting)
	join()
	expect("the hub starts")
	phase(Ready)
	leave()
	expect("the hub does not know the cluster")
	join()
	expect("the hub runs", "apply", "--kubeconfig="+hub.Kubeconfig("admin")+" ", "kind: Cluster", "url: http://127.0.0.1:8800",
		"name: staging-two", "cluster: two")
	phase(Stopping)
	leave()
	expect("the hub stops")
	phase(Ready)
	leave()
	expect("the data are removed", "delete", "--kubeconfig="+hub.Kubeconfig("admin")+" ", "kind: Cluster", "name: staging-two")
	if err := WriteMode(s.layout, ModeNone); err != nil {
		t.Fatal(err)
	}
	join()
	expect("no manager runs here")
}
