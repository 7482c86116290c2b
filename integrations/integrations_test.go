// Package integrations holds what pipelines take over as it is: each file is checked here.
package integrations

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rhysd/actionlint"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// TestGitHub lints the example, and with it the action that it uses: its inputs, its outputs, and
// that it is one.
func TestGitHub(t *testing.T) {
	root := t.TempDir() // where a repository has them
	for from, to := range map[string]string{
		"github/action.yml":   "integrations/github/action.yml",
		"github/install.sh":   "integrations/github/install.sh",
		"github/notify.sh":    "integrations/github/notify.sh",
		"github/workflow.yml": ".github/workflows/deploy.yml",
	} {
		path := filepath.Join(root, to)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, read(t, from), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{WorkingDir: root})
	if err != nil {
		t.Fatal(err)
	}
	workflow := filepath.Join(root, ".github/workflows/deploy.yml")
	problems, err := linter.LintFile(workflow, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}

	// The linter does see the action: an input that it lacks is a problem.
	broken := bytes.Replace(read(t, "github/workflow.yml"), []byte("type: staging"), []byte("tpye: staging"), 1)
	if err := os.WriteFile(workflow, broken, 0o644); err != nil {
		t.Fatal(err)
	}
	if problems, err := linter.LintFile(workflow, nil); err != nil || len(problems) == 0 {
		t.Errorf("a misspelt input is no problem to the linter (%v): it did not read the action", err)
	}
}

// TestGitHubStep runs the step of the action with a postflight that only tells how it was called.
func TestGitHubStep(t *testing.T) {
	cases := map[string]struct {
		env     []string
		code    string
		args    []string
		outcome string
	}{
		"nothing given": {code: "0", args: []string{"notify", "--timeout", "2h", "-o", "json"}, outcome: "started"},
		"all given": {
			env: []string{"INPUT_TEAM=demo/github", "INPUT_TYPE=staging", "INPUT_DEPLOYMENT_URL=https://x", "INPUT_BRANCH=a b;$(id)", "INPUT_SHA=abc", "INPUT_DEDUPLICATION_KEY=k",
				"INPUT_EPHEMERAL=true", "INPUT_WAIT=true", "INPUT_FOLLOW=true", "INPUT_ALLOW_NO_MATCH=true", "INPUT_RERUN=true", "INPUT_ACCEPT_DIFFERENT=true", "INPUT_JUNIT=report.xml", "GITHUB_STEP_SUMMARY=summary.md", "INPUT_TIMEOUT=5m", "INPUT_VARIABLES=A=1 2\nB=\"x\"\r\n\n"},
			code: "0",
			args: []string{"notify", "--timeout", "5m", "-o", "json", "--team", "demo/github", "--type", "staging", "--deployment-url", "https://x", "--branch", "a b;$(id)", "--sha", "abc",
				"--deduplication-key", "k", "--ephemeral", "--wait", "--follow", "--allow-no-match", "--rerun", "--accept-different", "--junit", "report.xml", "--summary", "summary.md", "--variable", "A=1 2", "--variable", `B="x"`},
			outcome: "passed",
		},
		"failed":   {env: []string{"INPUT_WAIT=true"}, code: "1", args: []string{"notify", "--timeout", "2h", "-o", "json", "--wait"}, outcome: "failed"},
		"canceled": {env: []string{"INPUT_WAIT=true"}, code: "2", args: []string{"notify", "--timeout", "2h", "-o", "json", "--wait"}, outcome: "canceled"},
		"trouble":  {code: "3", args: []string{"notify", "--timeout", "2h", "-o", "json"}, outcome: "trouble"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			stub := "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\" >> \"$CALLED\"; done\necho '{\"results\": []}'\nexit $CODE\n"
			if err := os.WriteFile(filepath.Join(dir, "postflight"), []byte(stub), 0o755); err != nil {
				t.Fatal(err)
			}
			step := exec.Command("bash", "github/notify.sh")
			step.Env = append(slices.Clone(tc.env), "PATH="+dir+":"+os.Getenv("PATH"), "CODE="+tc.code, "CALLED="+dir+"/called", "GITHUB_OUTPUT="+dir+"/output")
			out, _ := step.CombinedOutput()
			if got := step.ProcessState.ExitCode(); got != int(tc.code[0]-'0') {
				t.Errorf("exit code %d, want %s: %s", got, tc.code, out)
			}
			called := strings.Split(strings.TrimSuffix(string(read(t, dir+"/called")), "\n"), "\n")
			if diff := cmp.Diff(tc.args, called); diff != "" {
				t.Error(diff)
			}
			if output := string(read(t, dir+"/output")); !strings.Contains(output, "outcome="+tc.outcome+"\n") || !strings.Contains(output, "{\"results\": []}\n") {
				t.Errorf("outputs:\n%s", output)
			}
		})
	}
}

// TestJobs decodes the Jobs strictly, and holds them to what a namespace under the restricted Pod
// Security Standard asks for.
func TestJobs(t *testing.T) {
	for _, path := range []string{"argocd/postsync.yaml", "flux/job.yaml"} {
		var job batchv1.Job
		decodeOne(t, path, "Job", &job)
		if job.Name == "" || job.GenerateName != "" {
			t.Errorf("%s: Kustomize refuses what has no name, and nothing could replace the Job", path)
		}
		checkJob(t, path, job.Spec)
	}
}

func checkJob(t *testing.T, path string, job batchv1.JobSpec) {
	t.Helper()
	pod := job.Template.Spec
	if pod.RestartPolicy != corev1.RestartPolicyNever || *job.BackoffLimit != 0 {
		t.Errorf("%s: a run that failed would be repeated", path)
	}
	if !*pod.SecurityContext.RunAsNonRoot || *pod.Containers[0].SecurityContext.AllowPrivilegeEscalation || *pod.AutomountServiceAccountToken {
		t.Errorf("%s: more rights than it needs", path)
	}
	checkImage(t, path, pod.Containers[0].Image)
	checkExpansion(t, path, pod.Containers[0])
	checkPlainHTTP(t, path, pod.Containers[0])
	checkToken(t, path, pod.ServiceAccountName, pod.Volumes, pod.Containers[0])
}

func checkPlainHTTP(t *testing.T, path string, c corev1.Container) {
	t.Helper()
	env := map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
	}
	if plain := strings.HasPrefix(env["POSTFLIGHT_URL"], "http://"); plain != (env["POSTFLIGHT_ALLOW_HTTP"] == "1") {
		t.Errorf("%s: plain http: %t, allowed: %t; a warning at each run teaches people to ignore it", path, plain, !plain)
	}
}

// checkImage: what replaces the image of the manager replaces this one. Without a tag it would be
// whatever is the latest, on each node another.
func checkImage(t *testing.T, path, image string) {
	t.Helper()
	var manager struct {
		Images []struct{ Name, NewTag string } `json:"images"`
	}
	if err := yaml.Unmarshal(read(t, "../config/manager/kustomization.yaml"), &manager); err != nil {
		t.Fatal(err)
	}
	if want := manager.Images[0].Name + ":" + manager.Images[0].NewTag; image != want {
		t.Errorf("%s: image %s, and that of the manager is %s", path, image, want)
	}
}

// checkExpansion: Kubernetes expands $(NAME) in command and args. Where the name of a branch is $(HOME), it stays that in env, as long
// as no variable stands above it that is secret.
func checkExpansion(t *testing.T, path string, c corev1.Container) {
	t.Helper()
	var may []string // be expanded; what it holds is not expanded again
	for _, v := range c.Env {
		may = append(may, "$("+v.Name+")")
	}
	for _, arg := range slices.Concat(c.Command, c.Args) {
		for _, reference := range regexp.MustCompile(`\$\([^)]*\)`).FindAllString(arg, -1) {
			if !slices.Contains(may, reference) {
				t.Errorf("%s: %q: %s becomes a part of the command line before Kubernetes expands that", path, arg, reference)
			}
		}
		for _, deployed := range []string{"--branch", "--sha", "--type", "--deployment-url"} {
			if strings.HasPrefix(arg, deployed) && !strings.HasPrefix(arg, deployed+"=$(") {
				t.Errorf("%s: %q: what is deployed belongs into env", path, arg)
			}
		}
	}
	if !slices.Contains(slices.Concat(c.Command, c.Args), "notify") {
		return
	}
	for _, name := range []string{"POSTFLIGHT_BRANCH", "POSTFLIGHT_SHA", "POSTFLIGHT_DEPLOYMENT_TYPE", "POSTFLIGHT_DEPLOYMENT_URL"} {
		if !slices.Contains(may, "$("+name+")") {
			t.Errorf("%s: no %s, to say what was deployed", path, name)
		}
	}
}

type tektonTask struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Description string `json:"description"`
		Params      []struct {
			Name        string  `json:"name"`
			Description string  `json:"description"`
			Default     *string `json:"default"`
		} `json:"params"`
		Steps   []corev1.Container `json:"steps"`
		Volumes []corev1.Volume    `json:"volumes"`
	} `json:"spec"`
}

func TestTekton(t *testing.T) {
	var task tektonTask
	decodeOne(t, "tekton/task.yaml", "Task", &task)
	var declared []string
	for _, p := range task.Spec.Params {
		declared = append(declared, p.Name)
	}
	checkPlaceholders(t, uncommented(read(t, "tekton/task.yaml")), `\$\(params\.([a-z-]+)\)`, declared)
	if task.APIVersion != "tekton.dev/v1" || task.Kind != "Task" || len(task.Spec.Steps) != 1 {
		t.Fatalf("not a Task: %+v", task)
	}
	checkImage(t, "tekton/task.yaml", task.Spec.Steps[0].Image)
	checkExpansion(t, "tekton/task.yaml", task.Spec.Steps[0])
	if audience := task.Spec.Volumes[0].Projected.Sources[0].ServiceAccountToken; audience.Audience == "$(params.audience)" {
		audience.Audience = "postflight" // the default, as TestSameInputs shows
	}
	checkToken(t, "tekton/task.yaml", "postflight", task.Spec.Volumes, task.Spec.Steps[0]) // the account is named in the PipelineRun
	got := map[string]string{}
	for _, v := range task.Spec.Steps[0].Env {
		got[v.Name] = v.Value
	}
	want := map[string]string{
		"POSTFLIGHT_URL": "$(params.url)", "POSTFLIGHT_ALLOW_HTTP": "$(params.allow-http)", "POSTFLIGHT_TEAM": "$(params.team)",
		"INPUT_DEDUPLICATION_KEY": "$(params.deduplication-key)", "INPUT_EPHEMERAL": "$(params.ephemeral)", "INPUT_WAIT": "$(params.wait)",
		"INPUT_FOLLOW": "$(params.follow)", "INPUT_TIMEOUT": "$(params.timeout)", "INPUT_ALLOW_NO_MATCH": "$(params.allow-no-match)",
		"INPUT_RERUN": "$(params.rerun)", "INPUT_ACCEPT_DIFFERENT": "$(params.accept-different)",
		"POSTFLIGHT_BRANCH": "$(params.branch)", "POSTFLIGHT_SHA": "$(params.sha)",
		"POSTFLIGHT_DEPLOYMENT_TYPE": "$(params.type)", "POSTFLIGHT_DEPLOYMENT_URL": "$(params.deployment-url)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFlux(t *testing.T) {
	var kustomization struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Spec struct {
			DependsOn []struct {
				Name string `json:"name"`
			} `json:"dependsOn"`
			Interval, RetryInterval, Timeout, Path, TargetNamespace string
			Wait, Force, Prune                                      bool
			SourceRef                                               struct{ Kind, Name string }
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(read(t, "flux/postflight.yaml"), &kustomization); err != nil {
		t.Fatal(err)
	}
	if !kustomization.Spec.Wait || !kustomization.Spec.Force || len(kustomization.Spec.DependsOn) == 0 {
		t.Error("without wait, force and dependsOn the next stage does not wait for the runs of this commit")
	}
}

func TestGitLab(t *testing.T) {
	content := read(t, "gitlab/template.yml")
	head, body, found := bytes.Cut(content, []byte("\n---\n"))
	if !found {
		t.Fatal("a component is a spec and, after ---, its jobs")
	}
	var spec struct {
		Spec struct {
			Inputs map[string]struct {
				Default     *string `json:"default"`
				Description string  `json:"description"`
			} `json:"inputs"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(head, &spec); err != nil {
		t.Fatal(err)
	}
	var jobs map[string]struct {
		Stage         string                          `json:"stage"`
		Image         string                          `json:"image"`
		IDTokens      map[string]struct{ Aud string } `json:"id_tokens"`
		Variables     map[string]string               `json:"variables"`
		Script        []string                        `json:"script"`
		AllowFailure  any                             `json:"allow_failure"`
		Interruptible bool                            `json:"interruptible"`
		Artifacts     struct {
			Reports struct{ JUnit string } `json:"reports"`
		} `json:"artifacts"`
	}
	if err := yaml.UnmarshalStrict(body, &jobs); err != nil {
		t.Fatal(err)
	}
	var declared []string
	for name := range spec.Spec.Inputs {
		declared = append(declared, name)
	}
	checkPlaceholders(t, body, `\$\[\[ inputs\.([a-z-]+) \]\]`, declared)
	for name, job := range jobs {
		if got := job.IDTokens["POSTFLIGHT_ID_TOKEN"].Aud; got != "$[[ inputs.audience ]]" || len(job.IDTokens) != 1 {
			t.Errorf("%s: GitLab makes the tokens %v, and postflight reads POSTFLIGHT_ID_TOKEN", name, job.IDTokens)
		}
		if job.AllowFailure != nil {
			t.Errorf("%s: allow_failure lets the next stage start with a commit that no run has tested", name)
		}
		if report := job.Artifacts.Reports.JUnit; report != job.Variables["INPUT_JUNIT"] {
			t.Errorf("%s: GitLab shows the report %q, which the script does not write", name, report)
		}
		if strings.Contains(strings.Join(job.Script, "\n"), "$[[") {
			t.Errorf("%s: an input becomes text of the script, where it can be more than a value", name)
		}
		for _, line := range job.Script {
			if out, err := exec.Command("bash", "-n", "-c", line).CombinedOutput(); err != nil {
				t.Errorf("%s: %s", line, out)
			}
		}
	}
}

// TestGitLabJob runs the script of the job as a runner does, with the inputs that the action of GitHub has, too.
func TestGitLabJob(t *testing.T) {
	_, body, _ := bytes.Cut(read(t, "gitlab/template.yml"), []byte("\n---\n"))
	var jobs map[string]struct {
		Variables map[string]string `json:"variables"`
		Script    []string          `json:"script"`
	}
	if err := yaml.Unmarshal(body, &jobs); err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs: %v", len(jobs), err)
	}
	defaults := map[string]string{"wait": "true", "timeout": "2h", "junit": "postflight.xml"}
	cases := map[string]struct {
		inputs map[string]string
		args   []string
	}{
		"nothing given": {args: []string{"notify", "--timeout", "2h", "--wait", "--junit", "postflight.xml"}},
		"all given": {
			inputs: map[string]string{"type": "staging", "deployment-url": "https://x", "branch": "a b;$(id)", "sha": "abc", "deduplication-key": "k", "ephemeral": "true", "follow": "true",
				"allow-no-match": "true", "rerun": "true", "accept-different": "true", "timeout": "5m", "wait": "true", "junit": "report.xml", "variables": "A=1 2\nB=\"x\"\n\nC=$(id) `id`"},
			args: []string{"notify", "--timeout", "5m", "--type", "staging", "--deployment-url", "https://x", "--branch", "a b;$(id)", "--sha", "abc", "--deduplication-key", "k",
				"--ephemeral", "--wait", "--junit", "report.xml", "--follow", "--allow-no-match", "--rerun", "--accept-different", "--variable", "A=1 2", "--variable", `B="x"`, "--variable", "C=$(id) `id`"},
		},
		"without waiting, there is no report": {
			inputs: map[string]string{"wait": "false"},
			args:   []string{"notify", "--timeout", "2h"},
		},
	}
	for _, job := range jobs {
		input := regexp.MustCompile(`^\$\[\[ inputs\.([a-z-]+) \]\]$`)
		for name, tc := range cases {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				stub := "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\" >> \"$CALLED\"; done\nexit 4\n"
				if err := os.WriteFile(filepath.Join(dir, "postflight"), []byte(stub), 0o755); err != nil {
					t.Fatal(err)
				}
				run := exec.Command("sh", "-e", "-c", strings.Join(job.Script, "\n"))
				run.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "CALLED=" + dir + "/called"}
				for variable, value := range job.Variables {
					if m := input.FindStringSubmatch(value); m != nil {
						value = defaults[m[1]]
						if given, ok := tc.inputs[m[1]]; ok {
							value = given
						}
					}
					run.Env = append(run.Env, variable+"="+value)
				}
				out, _ := run.CombinedOutput()
				if got := run.ProcessState.ExitCode(); got != 4 {
					t.Errorf("exit code %d, want that of postflight: %s", got, out)
				}
				called := strings.Split(strings.TrimSuffix(string(read(t, dir+"/called")), "\n"), "\n")
				if diff := cmp.Diff(tc.args, called); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestGitLabInclude: what the docs and the template show includes the file by its path from the root of
// the mirror, with inputs that it declares. An include of a component would find nothing there.
func TestGitLabInclude(t *testing.T) {
	template := read(t, "gitlab/template.yml")
	var spec struct {
		Spec struct {
			Inputs map[string]struct{ Default *string } `json:"inputs"`
		} `json:"spec"`
	}
	head, _, _ := bytes.Cut(template, []byte("\n---\n"))
	if err := yaml.Unmarshal(head, &spec); err != nil {
		t.Fatal(err)
	}
	for path, shown := range map[string]string{
		"gitlab/template.yml": regexp.MustCompile(`(?m)^# ?`).ReplaceAllString(between(t, string(template), "#   include:", "\n#\n"), ""),
		"../docs/ci.md":       between(t, string(read(t, "../docs/ci.md")), "include:\n  - project:", "```"),
	} {
		var pipeline struct {
			Include []struct {
				Project, Ref, File string
				Inputs             map[string]string
			} `json:"include"`
		}
		if err := yaml.UnmarshalStrict([]byte(shown), &pipeline); err != nil || len(pipeline.Include) != 1 {
			t.Errorf("%s: %v\n%s", path, err, shown)
			continue
		}
		include := pipeline.Include[0]
		if include.Project == "" || !bytes.Equal(read(t, filepath.Join("..", include.File)), template) {
			t.Errorf("%s: %q of %q is not the template", path, include.File, include.Project)
		}
		for name := range include.Inputs {
			if _, ok := spec.Spec.Inputs[name]; !ok {
				t.Errorf("%s: the template has no input %s", path, name)
			}
		}
		for name, input := range spec.Spec.Inputs {
			if input.Default == nil && include.Inputs[name] == "" {
				t.Errorf("%s: the template demands the input %s", path, name)
			}
		}
	}
}

// between is the text from a start, which it includes, to an end.
func between(t *testing.T, text, start, end string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, start)
	inner, _, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("no %q that ends with %q", start, end)
	}
	return start + inner
}

// checkPlaceholders fails for one that is not declared, and for a declaration that nothing uses.
func checkPlaceholders(t *testing.T, content []byte, pattern string, declared []string) {
	t.Helper()
	var used []string
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(content, -1) {
		used = append(used, string(m[1]))
	}
	slices.Sort(used)
	slices.Sort(declared)
	if diff := cmp.Diff(declared, slices.Compact(used)); diff != "" {
		t.Errorf("declared (-), used (+):\n%s", diff)
	}
}

func uncommented(content []byte) []byte {
	return regexp.MustCompile(`(?m)^#.*$`).ReplaceAll(content, nil)
}

// TestRecipesDoNotFollow: with --follow, 0 is the outcome of another commit. The action, the template and the Task pass it on
// for whoever asks for it; no recipe that promotes does.
func TestRecipesDoNotFollow(t *testing.T) {
	passOn := []string{"github/notify.sh", "gitlab/template.yml", "tekton/task.yaml"}
	asksFor := regexp.MustCompile(`--follow|(?m)^\s*follow:\s*["']?true`)
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") || slices.Contains(passOn, path) {
			return err
		}
		if found := asksFor.Find(read(t, path)); found != nil {
			t.Errorf("%s asks for %q", path, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	fence := regexp.MustCompile("(?s)```(sh|yaml|groovy)\n.*?```")
	for _, recipe := range fence.FindAll(read(t, "../docs/ci.md"), -1) {
		if bytes.Contains(recipe, []byte("--follow")) {
			t.Errorf("a recipe of docs/ci.md follows:\n%s", recipe)
		}
	}
}
