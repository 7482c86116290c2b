//go:build linux

package proc

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/prometheus/procfs"
)

func TestOwns(t *testing.T) {
	owner := Owner{Mark: "POSTFLIGHT_DEV_DIR=/a/.dev", Cgroup: "postflight-1a2b3c4d"}
	cases := map[string]struct {
		reason  string
		environ []string
		cgroups []procfs.Cgroup
		want    bool
	}{
		"marked": {reason: "all descendants inherit the mark",
			environ: []string{"A=b", "POSTFLIGHT_DEV_DIR=/a/.dev", "C=d"}, want: true},
		"mark of another cluster": {reason: "another folder is another cluster", environ: []string{"POSTFLIGHT_DEV_DIR=/a/.dev2"}},
		"mark within another variable": {reason: "it is not the mark",
			environ: []string{"MY_POSTFLIGHT_DEV_DIR=/a/.dev", "X=POSTFLIGHT_DEV_DIR=/a/.dev"}},
		"container": {reason: "containers are below the cgroup of the cluster", cgroups: []procfs.Cgroup{
			{HierarchyID: 12, Controllers: []string{"pids"}, Path: "/postflight-1a2b3c4d/kubepods/besteffort/pod1/x"}, {Path: "/"}}, want: true},
		"cgroup itself": {reason: "a process may be in the cgroup itself", cgroups: []procfs.Cgroup{{Path: "/postflight-1a2b3c4d"}},
			want: true},
		"cgroup of a longer name": {reason: "it belongs to another cluster", cgroups: []procfs.Cgroup{{Path: "/postflight-1a2b3c4d5/kubepods"}}},
		"cgroup further down": {reason: "the same name elsewhere is not ours",
			cgroups: []procfs.Cgroup{{Path: "/user.slice/postflight-1a2b3c4d"}}},
		"unreadable process": {reason: "it is not ours"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := owner.Owns(tc.environ, tc.cgroups); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}

func TestKillAll(t *testing.T) {
	owner := Owner{Mark: "POSTFLIGHT_DEV_DIR=" + t.TempDir(), Cgroup: "postflight-none"}
	start := func(env ...string) *exec.Cmd {
		cmd := exec.Command("sleep", "600")
		cmd.Env = append(os.Environ(), env...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd
	}
	ours, foreign := start(owner.Mark), start(owner.Mark+"-other")
	ended := make(chan error, 2)
	go func() { ended <- ours.Wait() }()
	// Until exec, a child shows its parent's environment.
	await(t, "the process has its mark", func() bool { return len(owner.List()) > 0 })
	if killed := owner.KillAll(limit); killed != 1 {
		t.Errorf("killed %d processes, want 1", killed)
	}
	if err := <-ended; err == nil {
		t.Error("the marked process ended by itself")
	}
	if err := foreign.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process of another cluster is gone: %v", err)
	}
}
