package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/test/tier"
)

// TestCommitFromValues renders a chart with the hook of Argo CD as docs/gitops.md changes it: the Job reports the commit that is
// the tag of the image, also one that looks like a number.
func TestCommitFromValues(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	page, err := os.ReadFile(path(t, "docs", "gitops.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(page), "with this value instead of the empty one:\n\n```yaml\n")
	shown, _, ended := strings.Cut(shown, "```")
	hook, err := os.ReadFile(path(t, "integrations", "argocd", "postsync.yaml"))
	if err != nil || !found || !ended {
		t.Fatalf("docs/gitops.md has no value for Helm (%t, %t): %v", found, ended, err)
	}
	const empty = "            - name: POSTFLIGHT_SHA\n              value: \"\" # empty: not given, so each sync starts a run\n"
	if !strings.Contains(string(hook), empty) {
		t.Fatalf("postsync.yaml has no empty commit to replace:\n%s", hook)
	}
	chart := t.TempDir()
	if err := os.Mkdir(filepath.Join(chart, "templates"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		"Chart.yaml":              "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"templates/postsync.yaml": strings.Replace(string(hook), empty, shown, 1),
	} {
		if err := os.WriteFile(filepath.Join(chart, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, commit := range []string{"9fceb02d0ae598e95dc970b74767f19372d61af8", "1234567890123456789012345678901234567890"} {
		// A parameter of Argo CD that is forced to be a string becomes this flag.
		cmd := exec.CommandContext(t.Context(), helmBinary(t), "template", "shop", chart, "--set-string", "image.tag="+commit)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "- name: POSTFLIGHT_SHA\n              value: \""+commit+"\"\n") {
			t.Errorf("the Job does not report %s: %v\n%s", commit, err, out)
		}
		if !strings.Contains(string(out), "argocd.argoproj.io/hook: PostSync\n") {
			t.Errorf("no hook:\n%s", out)
		}
	}
}
