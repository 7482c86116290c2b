package e2e

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/managers"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// commandLine is bin/postflight, with a team's key or with the kubeconfig.
type commandLine struct {
	t   *testing.T
	dir string // in which it runs
	env []string
}

func (tm *team) byServer(t *testing.T, m *manager) *commandLine {
	dir := t.TempDir()
	return &commandLine{t, dir, []string{"HOME=" + dir, "POSTFLIGHT_URL=" + m.url, "POSTFLIGHT_API_KEY=" + tm.key}}
}

func (tm *team) byKubeconfig(t *testing.T) *commandLine {
	dir := t.TempDir()
	return &commandLine{t, dir, []string{"HOME=" + dir, "KUBECONFIG=" + tm.env["KUBECONFIG"]}}
}

// in is the command line in a subtest, which has to fail itself and not its parent.
func (c *commandLine) in(t *testing.T) *commandLine { return &commandLine{t, c.dir, c.env} }

func (c *commandLine) start(args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	c.t.Helper()
	var out, log bytes.Buffer
	cmd := exec.Command(postflightBinary(c.t), args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = c.dir, c.env, &out, &log, managers.DieWithParent()
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd, &out, &log
}

// run returns the standard output of a command, which has to exit with the code, and both outputs together.
func (c *commandLine) run(code int, args ...string) (out, all string) {
	c.t.Helper()
	cmd, stdout, stderr := c.start(args...)
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != code {
		c.t.Errorf("postflight %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	story(c.t, "$ postflight %s\n%s%s", strings.Join(args, " "), stderr, stdout)
	return stdout.String(), stderr.String() + stdout.String()
}

func (c *commandLine) json(args ...string) (value any) {
	c.t.Helper()
	out, _ := c.run(0, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), &value); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	return value
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// cliTest is a team whose run has failed and is archived.
type cliTest struct {
	*team
	key, kube *commandLine
	sha, id   string
}

// TestCommandLine acts on runs and looks at them with a team's key alone, also when nothing is left of them in the
// cluster but the record in the archive.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("smoke", branches("main"), runs("echo testing; echo broken; exit 3"))
	tm.trigger("slow", branches("slow"), runs(`trap 'echo stopped; exit 1' TERM; echo busy; sleep 600 & wait`), grace(5))
	m := tm.sharedManager()
	cli := &cliTest{team: tm, key: tm.byServer(t, m), kube: tm.byKubeconfig(t), sha: sha()}
	_, all := cli.key.run(1, "notify", "--no-detect", "--branch", "main", "--sha", cli.sha, "--wait", "--junit", "report.xml")
	contains(t, all, "started smoke-", "failed", "exited with code 3")
	cli.id = tm.suites()[0].Name
	report, err := os.ReadFile(filepath.Join(cli.key.dir, "report.xml"))
	if err != nil || xml.Unmarshal(report, &struct{}{}) != nil || !bytes.Contains(report, []byte(cli.id)) {
		t.Errorf("%v: %s", err, report)
	}
	tm.awaitArchived(cli.id)
	cli.awaitServer()
	steps := []struct {
		name string
		test func(*cliTest, *testing.T)
	}{
		{"both ways print the same", (*cliTest).bothWays}, {"a followed run is canceled and rerun", (*cliTest).follow},
		{"a notification reruns", (*cliTest).rerun}, {"an environment is terminated", (*cliTest).terminate},
		{"files are downloaded", (*cliTest).files}, {"nothing is left in the cluster", (*cliTest).archived},
	}
	if tier.Gate() {
		steps = steps[:1]
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			of := *cli
			of.team, of.key, of.kube = tm.in(t), cli.key.in(t), cli.kube.in(t)
			step.test(&of, t)
		})
	}
}

// awaitServer waits until the server's cache has what the API server has of the run: it may be behind on a busy machine.
func (cli *cliTest) awaitServer() {
	cli.t.Helper()
	poll.Until(cli.t, "the server says that the run is archived", func() string {
		out, _ := cli.key.run(0, "runs", "show", cli.id, "-o", "json")
		var run struct{ Archive struct{ Done bool } }
		if err := json.Unmarshal([]byte(out), &run); err != nil || !run.Archive.Done {
			return out
		}
		return ""
	})
}

// bothWays: only the server knows the page of a run.
func (cli *cliTest) bothWays(t *testing.T) {
	for _, command := range [][]string{{"runs", "list"}, {"runs", "show", cli.id}, {"runs", "results", cli.id}} {
		if diff := cmp.Diff(withoutURL(cli.key.json(command...)), withoutURL(cli.kube.json(append(command, "-n", cli.name)...))); diff != "" {
			t.Errorf("%v through the server (-) and the kubeconfig (+):\n%s", command, diff)
		}
	}
	out, _ := cli.key.run(0, "runs", "logs", cli.id)
	if kubeOut, _ := cli.kube.run(0, "runs", "logs", cli.id, "-n", cli.name); out != "testing\nbroken\n" || kubeOut != out {
		t.Errorf("logs: %q through the server, %q through the kubeconfig", out, kubeOut)
	}
	if out, _ := cli.key.run(0, "runs", "logs", cli.id, "--tail", "1", "-c", "test"); out != "broken\n" {
		t.Errorf("the last line is %q", out)
	}
	cli.key.run(1, "runs", "logs", "no-such-run")
}

func (cli *cliTest) follow(t *testing.T) {
	cli.key.run(0, "notify", "--no-detect", "--branch", "slow", "--sha", sha())
	slow := cli.key.idOf("slow")
	following, followed, _ := cli.key.start("runs", "logs", "-f", slow)
	cli.awaitLog(slow, "busy")
	_, all := cli.key.run(1, "runs", "rerun", slow)
	contains(t, all, "has not ended")
	cli.key.run(0, "runs", "cancel", slow)
	if err := following.Wait(); err != nil || followed.String() != "busy\nstopped\n" {
		t.Errorf("the log that was followed: %v, %q", err, followed)
	}
	contains(t, message(cli.awaitState(slow, v1alpha1.ReasonCanceled)), "ci") // the name of the key
	cli.key.run(2, "wait", slow)

	out, _ := cli.key.run(0, "runs", "rerun", slow)
	second := strings.TrimSpace(out)
	if again, _ := cli.kube.run(0, "runs", "rerun", slow, "-n", cli.name); strings.TrimSpace(again) != second {
		t.Errorf("%s is rerun as %s and as %s", slow, second, again)
	}
	cli.key.run(0, "runs", "cancel", second)
	cli.awaitState(second, v1alpha1.ReasonCanceled)
}

func (cli *cliTest) rerun(t *testing.T) {
	_, all := cli.key.run(1, "notify", "--no-detect", "--branch", "main", "--sha", cli.sha, "--wait")
	contains(t, all, "already exists: "+cli.id)
	_, all = cli.key.run(1, "notify", "--no-detect", "--branch", "main", "--sha", cli.sha, "--rerun", "--wait")
	contains(t, all, "started smoke-")
	if attempt := cli.suite(cli.key.idOf("smoke")).Spec.Attempt; attempt != 2 {
		t.Errorf("the run that the notification started is attempt %d of %s", attempt, cli.id)
	}
}

func (cli *cliTest) terminate(t *testing.T) {
	url := cli.env["DEMO_URL"] + "/?preview=7"
	cli.key.run(0, "notify", "--no-detect", "--branch", "slow", "--sha", sha(), "--ephemeral", "--deployment-url", url)
	slow := cli.key.idOf("slow")
	cli.awaitPod(slow)
	_, all := cli.key.run(0, "notify", "--no-detect", "--terminated", "--deployment-url", url)
	contains(t, all, "terminated, canceling: "+slow)
	poll.Until(t, "the Environment is gone", func() string {
		cmd, _, log := cli.key.start("notify", "--no-detect", "--terminated", "--deployment-url", url)
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
			return "there is still one: " + log.String()
		}
		contains(t, log.String(), "--allow-no-match")
		return ""
	})
	cli.key.run(0, "notify", "--no-detect", "--terminated", "--allow-no-match", "--deployment-url", url)
	_, all = cli.key.run(0, "runs", "show", slow)
	contains(t, all, "Canceled")
}

// files come from the store, with the key alone.
func (cli *cliTest) files(t *testing.T) {
	a, run := openArchive(t, cli.cluster), record.Of(cli.name, cli.suite(cli.id))
	want := map[string]int{"report/index.html": 6, "a b+ü%.png": 1 << 20}
	for path, size := range want {
		cli.put(t, a, run, path, bytes.Repeat([]byte("x"), size))
	}
	_, all := cli.key.run(0, "runs", "artifacts", "list", cli.id)
	contains(t, all, "6 B", "report/index.html", "a b+ü%.png")
	cli.key.run(0, "runs", "artifacts", "download", cli.id)
	for path, size := range want {
		if content, err := os.ReadFile(filepath.Join(cli.key.dir, cli.id, path)); err != nil || len(content) != size {
			t.Errorf("%s: %v, %d bytes", path, err, len(content))
		}
	}
	_, all = cli.kube.run(1, "runs", "artifacts", "list", cli.id, "-n", cli.name)
	contains(t, all, "set POSTFLIGHT_URL")
}

func (cli *cliTest) archived(t *testing.T) {
	for _, what := range []string{"job", "pod"} {
		if _, err := cli.kubectl("delete", what, "-n", cli.name, "-l", v1alpha1.LabelSuite+"="+cli.id, "--force", "--grace-period=0"); err != nil {
			t.Error(err)
		}
	}
	_, all := cli.kube.run(1, "runs", "logs", cli.id, "-n", cli.name)
	contains(t, all, "set POSTFLIGHT_URL")
	if _, err := cli.kubectl("delete", "suite", "-n", cli.name, cli.id); err != nil {
		t.Error(err)
	}
	if out, _ := cli.key.run(0, "runs", "logs", cli.id); out != "testing\nbroken\n" {
		t.Errorf("the archived log is %q", out)
	}
	_, all = cli.key.run(0, "runs", "show", cli.id)
	contains(t, all, cli.id, "Failed", "exited with code 3")
	_, all = cli.key.run(0, "runs", "list", "--branch", "main", "--state", "failed")
	contains(t, all, cli.id)
	cli.key.run(0, "runs", "artifacts", "download", cli.id, "--dir", "again", "*.html")
}

// idOf is the newest run of a Trigger.
func (c *commandLine) idOf(trigger string) string {
	c.t.Helper()
	runs := c.json("runs", "list", "--trigger", trigger).([]any)
	if len(runs) == 0 {
		c.t.Fatalf("no run of %s", trigger)
	}
	return runs[0].(map[string]any)["id"].(string)
}

func withoutURL(value any) any {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			withoutURL(item)
		}
	case map[string]any:
		delete(value, "url")
	}
	return value
}

// put stores a file of a run, as its pod does.
func (tm *team) put(t *testing.T, a *archive.Archive, run record.Run, path string, content []byte) {
	t.Helper()
	url, err := a.SignCollect(t.Context(), run, "pod-1", path, int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	resp, err := httpClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
}
