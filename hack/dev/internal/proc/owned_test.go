//go:build linux

package proc

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestOwns(t *testing.T) {
	owner := Owner{Mark: "POSTFLIGHT_DEV_DIR=/a/.dev", Cgroup: "postflight-1a2b3c4d"}
	cases := map[string]struct {
		reason          string
		environ, cgroup string
		want            bool
	}{
		"Marked":       {reason: "the mark is inherited by all descendants", environ: "A=b\x00POSTFLIGHT_DEV_DIR=/a/.dev\x00C=d\x00", want: true},
		"OtherCluster": {reason: "another folder is another cluster", environ: "POSTFLIGHT_DEV_DIR=/a/.dev2\x00"},
		"Substring":    {reason: "a variable that merely ends so is not the mark", environ: "MY_POSTFLIGHT_DEV_DIR=/a/.dev\x00X=POSTFLIGHT_DEV_DIR=/a/.dev\x00"},
		"Container":    {reason: "containers are below the cluster's cgroup", cgroup: "12:pids:/postflight-1a2b3c4d/kubepods/besteffort/pod1/x\n0::/\n", want: true},
		"V2":           {reason: "the same in the unified hierarchy", cgroup: "0::/postflight-1a2b3c4d\n", want: true},
		"LongerName":   {reason: "another cluster's cgroup may begin the same", cgroup: "0::/postflight-1a2b3c4d5/kubepods\n"},
		"Deeper":       {reason: "the same name elsewhere is not ours", cgroup: "0::/user.slice/postflight-1a2b3c4d\n"},
		"Nothing":      {reason: "an unreadable process is not ours"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := owner.Owns([]byte(tc.environ), []byte(tc.cgroup)); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}

func TestKillAll(t *testing.T) {
	owner := Owner{Mark: "POSTFLIGHT_DEV_DIR=" + t.TempDir(), Cgroup: "postflight-none"}
	start := func(env ...string) *exec.Cmd {
		cmd := exec.Command("sleep", "60")
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
	for deadline := time.Now().Add(5 * time.Second); len(owner.List()) == 0 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if killed := owner.KillAll(5 * time.Second); killed != 1 {
		t.Errorf("killed %d processes, want 1", killed)
	}
	if err := <-ended; err == nil {
		t.Error("the marked process ended by itself")
	}
	if err := foreign.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process of another cluster is gone: %v", err)
	}
}
