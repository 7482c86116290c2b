package integrations

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

type flaggerWebhook struct {
	Name, Type, URL, Timeout string
	Metadata                 map[string]string
}

func flaggerWebhookOf(t *testing.T) flaggerWebhook {
	t.Helper()
	var canary struct {
		Spec struct {
			Analysis struct{ Webhooks []flaggerWebhook }
		}
	}
	if err := yaml.Unmarshal(read(t, "flagger/canary.yaml"), &canary); err != nil || len(canary.Spec.Analysis.Webhooks) != 1 {
		t.Fatalf("%v: %+v", err, canary)
	}
	return canary.Spec.Analysis.Webhooks[0]
}

// decodeOne decodes the only document of a kind.
func decodeOne(t *testing.T, path, kind string, into any) {
	t.Helper()
	for document := range bytes.SplitSeq(read(t, path), []byte("\n---\n")) {
		if bytes.Contains(document, []byte("\nkind: "+kind+"\n")) {
			if err := yaml.UnmarshalStrict(document, into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s has no %s", path, kind)
}

// TestFlagger: each wait is longer than the one inside it, so that the innermost says why it ended, and nobody but Flagger
// reaches what runs any command.
func TestFlagger(t *testing.T) {
	var deployment appsv1.Deployment
	var policy networkingv1.NetworkPolicy
	var script corev1.ConfigMap
	decodeOne(t, "flagger/tester.yaml", "Deployment", &deployment)
	decodeOne(t, "flagger/tester.yaml", "NetworkPolicy", &policy)
	decodeOne(t, "flagger/tester.yaml", "ConfigMap", &script)
	webhook, tester := flaggerWebhookOf(t), deployment.Spec.Template.Spec.Containers[0]
	if webhook.Type != "pre-rollout" || webhook.Metadata["type"] != "bash" {
		t.Errorf("%+v: only pre-rollout goes back after threshold failures, and only bash waits", webhook)
	}
	command, loadTester := timeoutIn(t, script.Data["notify.sh"]), timeoutIn(t, strings.Join(tester.Command, " "))
	if flagger := timeoutIn(t, "timeout="+webhook.Timeout); command >= loadTester || loadTester >= flagger {
		t.Errorf("postflight waits %s, the load tester %s, Flagger %s", command, loadTester, flagger)
	}
	if !maps.Equal(policy.Spec.PodSelector.MatchLabels, deployment.Spec.Template.Labels) ||
		len(policy.Spec.Ingress) != 1 || len(policy.Spec.Ingress[0].From) != 1 {
		t.Errorf("anyone reaches the load tester: %+v", policy.Spec)
	}
	pod := deployment.Spec.Template.Spec
	checkToken(t, "flagger/tester.yaml", pod.ServiceAccountName, pod.Volumes, tester)
	checkPlainHTTP(t, "flagger/tester.yaml", tester)
	for _, line := range []string{"cmd: " + webhook.Metadata["cmd"], "url: " + webhook.URL, "timeout: " + webhook.Timeout} {
		if !bytes.Contains(read(t, "../docs/flagger.md"), []byte(line)) {
			t.Errorf("docs/flagger.md shows another webhook, without %s", line)
		}
	}
}

// timeoutIn is the value of the only timeout in a text.
func timeoutIn(t *testing.T, text string) time.Duration {
	t.Helper()
	m := regexp.MustCompile(`timeout=(\w+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no timeout in %q", text)
	}
	d, err := time.ParseDuration(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const (
	kubectlStub = `#!/bin/sh
[ "$*" = "get deployment shop -o jsonpath={.spec.template.spec.containers[0].image}" ] || exit 9
if [ -e "$CALLED" ] && [ -n "$LATER" ]; then echo "$LATER"; elif [ -n "$IMAGE" ]; then echo "$IMAGE"; else exit 1; fi
`
	postflightStub = `#!/bin/sh
echo "$POSTFLIGHT_SHA at $POSTFLIGHT_DEPLOYMENT_URL: $*" > "$CALLED"
exit "$CODE"
`
)

// TestFlaggerScript runs the command of the webhook as the load tester does, with a kubectl and a postflight that only answer.
func TestFlaggerScript(t *testing.T) {
	const commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"
	var script corev1.ConfigMap
	decodeOne(t, "flagger/tester.yaml", "ConfigMap", &script)
	cases := map[string]struct {
		image, later string // of the Deployment, before and after the runs
		postflight   string // exit code
		code         int
		reported     string
	}{
		"passed":                         {image: "registry.example.com:5000/shop:" + commit, postflight: "0", reported: commit},
		"an image with a digest":         {image: "shop:" + commit + "@sha256:01ba4719", postflight: "0", reported: commit},
		"failed":                         {image: "shop:" + commit, postflight: "1", code: 1, reported: commit},
		"a tag that a shell would run":   {image: "shop:$(touch x)`touch y`", postflight: "0", reported: "$(touch x)`touch y`"},
		"another image by now":           {image: "shop:" + commit, later: "shop:0123", postflight: "0", code: 2, reported: commit},
		"kubectl may not read, or fails": {code: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "notify.sh"), script.Data["notify.sh"], 0o644)
			write(t, filepath.Join(dir, "kubectl"), kubectlStub, 0o755)
			write(t, filepath.Join(dir, "postflight"), postflightStub, 0o755)
			run := exec.Command("bash", "-c", strings.ReplaceAll(flaggerWebhookOf(t).Metadata["cmd"], "/postflight/", dir+"/"))
			run.Dir = dir
			run.Env = []string{
				"PATH=" + dir + ":" + os.Getenv("PATH"), "CALLED=" + dir + "/called", "IMAGE=" + tc.image, "LATER=" + tc.later, "CODE=" + tc.postflight,
			}
			out, _ := run.CombinedOutput()
			if got := run.ProcessState.ExitCode(); got != tc.code {
				t.Errorf("exit code %d, want %d: %s", got, tc.code, out)
			}
			want := ""
			if tc.reported != "" {
				want = tc.reported + " at http://shop-canary.shop: notify --wait --no-detect --timeout=55m\n"
			}
			if called, _ := os.ReadFile(dir + "/called"); string(called) != want {
				t.Errorf("postflight reported %q, want %q", called, want)
			}
			for _, file := range []string{"x", "y"} {
				if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
					t.Error("the tag became a command")
				}
			}
		})
	}
}

// TestFlaggerVerdict runs the command of the webhook that asks, and starts no run.
func TestFlaggerVerdict(t *testing.T) {
	const commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"
	var script corev1.ConfigMap
	decodeOne(t, "flagger/tester.yaml", "ConfigMap", &script)
	var shown struct{ Webhooks []flaggerWebhook }
	block, _, _ := strings.Cut(between(t, string(read(t, "../docs/flagger.md")), "webhooks:\n  - name: postflight-verdict", "```"), "\n```")
	if err := yaml.Unmarshal([]byte(strings.TrimSuffix(block, "```")), &shown); err != nil || len(shown.Webhooks) != 1 {
		t.Fatalf("%v: %s", err, block)
	}
	webhook := shown.Webhooks[0]
	if webhook.Type != "confirm-rollout" || webhook.Metadata["type"] != "bash" {
		t.Errorf("%+v: confirm-rollout waits, and only bash tells the outcome", webhook)
	}
	for name, tc := range map[string]struct {
		image, later, postflight string
		code                     int
		asked                    string
	}{
		"passed":                       {image: "shop:" + commit, postflight: "0", asked: commit},
		"failed":                       {image: "shop:" + commit, postflight: "1", code: 1, asked: commit},
		"it still runs":                {image: "shop:" + commit, postflight: "2", code: 2, asked: commit},
		"a tag that a shell would run": {image: "shop:$(touch x)`touch y`", postflight: "0", asked: "$(touch x)`touch y`"},
		"another image by now":         {image: "shop:" + commit, later: "shop:0123", postflight: "0", code: 2, asked: commit},
		"kubectl may not read":         {code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "verdict.sh"), script.Data["verdict.sh"], 0o644)
			write(t, filepath.Join(dir, "kubectl"), kubectlStub, 0o755)
			write(t, filepath.Join(dir, "postflight"), "#!/bin/sh\necho \"$*\" > \"$CALLED\"\nexit \"$CODE\"\n", 0o755)
			run := exec.Command("bash", "-c", strings.ReplaceAll(webhook.Metadata["cmd"], "/postflight/", dir+"/"))
			run.Dir = dir
			run.Env = []string{
				"PATH=" + dir + ":" + os.Getenv("PATH"), "CALLED=" + dir + "/called", "IMAGE=" + tc.image, "LATER=" + tc.later, "CODE=" + tc.postflight,
			}
			out, _ := run.CombinedOutput()
			if got := run.ProcessState.ExitCode(); got != tc.code {
				t.Errorf("exit code %d, want %d: %s", got, tc.code, out)
			}
			want := ""
			if tc.asked != "" {
				want = "gate --no-detect --sha=" + tc.asked + " --environment=staging\n"
			}
			if called, _ := os.ReadFile(dir + "/called"); string(called) != want {
				t.Errorf("postflight %q, want %q", called, want)
			}
			if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
				t.Error("the tag became a command")
			}
		})
	}
}
