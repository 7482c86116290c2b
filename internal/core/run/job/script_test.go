package job

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// TestVariablesInScripts: a value of a notification becomes part of a script that has it as $(URL), and not of one that reads "$URL".
func TestVariablesInScripts(t *testing.T) {
	body, err := json.Marshal(map[string]any{"branch": "main", "sha": "cafe", "deployment_type": "staging",
		"deployment_url": "https://acme.example.com/;echo${IFS}INJECTED", "variables": map[string]string{"GREP": "x'; echo INJECTED; echo '"}})
	if err != nil {
		t.Fatal(err)
	}
	n, err := notification.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	for script, injected := range map[string]bool{
		"echo $(URL)": true, "echo '$(GREP)'": true, `echo "$URL"`: false, `echo "$GREP"`: false, "echo $$(echo hello)": false,
	} {
		s := newSuite(func(s *v1alpha1.Suite) { s.Spec.Deployment.URL, s.Spec.Variables = n.DeploymentURL, n.Variables })
		trigger := newTrigger(func(tr *v1alpha1.Trigger) { pod(tr).Containers[0].Command = []string{"sh", "-c", script} })
		env := kubelet(withVariables(nil, variables(s, trigger, newEnvironment())))
		command := exec.CommandContext(t.Context(), "sh", "-c", expand(script, env))
		for name, value := range env {
			command.Env = append(command.Env, name+"="+value)
		}
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		ran := false
		for line := range strings.Lines(string(out)) {
			ran = ran || strings.TrimSpace(line) == "INJECTED"
		}
		if ran != injected || (ScriptWarning(trigger) != "") != injected {
			t.Errorf("%s: a command of the sender ran: %v, want %v; the warning is %q\n%s", script, ran, injected, ScriptWarning(trigger), out)
		}
	}
}

func TestScriptWarning(t *testing.T) {
	type template struct {
		command, args []string
		env           []corev1.EnvVar
		allow         []string
	}
	for name, tc := range map[string]struct {
		reason string
		template
		want string // of the warning
	}{
		"no shell":                 {"a program gets one word", template{command: []string{"curl", "$(URL)"}}, ""},
		"a script in a file":       {"its arguments are words", template{command: []string{"sh", "/tests/run.sh", "$(URL)"}}, ""},
		"an argument of a script":  {"it is no part of it", template{command: []string{"sh", "-c", `curl "$1"`, "sh", "$(URL)"}}, ""},
		"quoted by the script":     {"the shell reads it", template{command: []string{"sh", "-c", `curl "$URL"`}}, ""},
		"escaped":                  {"the kubelet keeps it", template{command: []string{"sh", "-c", "x=$$(URL)"}}, ""},
		"in the script":            {"it becomes part of it", template{command: []string{"sh", "-c", "curl $(URL)"}}, "$(URL)"},
		"in single quotes":         {"a value may have them", template{command: []string{"/bin/bash", "-euo", "pipefail", "-c", "curl '$(URL)'"}}, "$(URL)"},
		"flags in one":             {"it is a script, too", template{command: []string{"bash", "-ec", "curl $(URL)"}}, "$(URL)"},
		"in args":                  {"both make a command", template{command: []string{"/bin/sh"}, args: []string{"-c", "git checkout $(POSTFLIGHT_BRANCH)"}}, "$(POSTFLIGHT_BRANCH)"},
		"the shell of busybox":     {"it is one, too", template{command: []string{"busybox", "sh", "-c", "wget $(URL)"}}, "$(URL)"},
		"a variable":               {"senders may set it", template{command: []string{"sh", "-c", "npm test -- $(GREP)"}}, "$(GREP)"},
		"one that is not accepted": {"senders cannot set it", template{command: []string{"sh", "-c", "npm test -- $(GREP)"}, allow: []string{}}, ""},
		"a reserved one":           {"senders cannot set it", template{command: []string{"sh", "-c", "echo $(KUBERNETES_PORT)"}}, ""},
		"the name of the run":      {"Postflight sets it", template{command: []string{"sh", "-c", "echo $(POSTFLIGHT_SUITE_ID)"}}, ""},
		"a command":                {"senders may set a variable of this name", template{command: []string{"sh", "-c", "echo $(date)"}}, "$(date)"},
		"a command with words":     {"no variable has such a name", template{command: []string{"sh", "-c", "echo $(date +%s)"}}, ""},
		"through the template": {"its value has that of the sender", template{command: []string{"sh", "-c", "curl $(PAGE)"}, allow: []string{},
			env: []corev1.EnvVar{{Name: "BASE", Value: "$(URL)/shop"}, {Name: "PAGE", Value: "$(BASE)/cart"}}}, "$(PAGE)"},
		"of the template": {"its value is fixed", template{command: []string{"sh", "-c", "curl $(PAGE)"}, allow: []string{},
			env: []corev1.EnvVar{{Name: "PAGE", Value: "https://acme.example.com"}}}, ""},
		"a circle": {"it ends", template{command: []string{"sh", "-c", "curl $(A)"}, allow: []string{},
			env: []corev1.EnvVar{{Name: "A", Value: "$(B)"}, {Name: "B", Value: "$(A)"}}}, ""},
	} {
		trigger := newTrigger(func(tr *v1alpha1.Trigger) {
			c := &pod(tr).Containers[0]
			c.Command, c.Args, c.Env, tr.Spec.AllowVariables = tc.command, tc.args, tc.env, tc.allow
		})
		got := ScriptWarning(trigger)
		if (got != "") != (tc.want != "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s: %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}

// TestScriptWarningIsLinear: a Trigger below the size of an object must not stop the workers of the controller for all teams.
func TestScriptWarningIsLinear(t *testing.T) {
	const chained = 2000
	var env []corev1.EnvVar
	for i := range chained {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("A%d", i), Value: strings.Repeat(fmt.Sprintf("$(A%d)", i+1), 30)})
	}
	for name, command := range map[string][]string{
		"a million references":        {"sh", "-c", strings.Repeat("$(A0)", 1_000_000)},
		"a million names of shells":   slices.Repeat([]string{"sh"}, 1_000_000),
		"a million dollars":           {"sh", "-c", strings.Repeat("$", 1_000_000)},
		"variables that are the same": {"sh", "-c", "$(A0)$(A1)$(A2)"},
	} {
		c := &corev1.Container{Name: "tests", Command: command, Env: env}
		asked := 0
		v := newScriptVariables(c.Env, func(string) bool { asked++; return false })
		for name := range references(shellScript(c)) {
			v.decided(name)
		}
		if asked > chained+1 {
			t.Errorf("%s: %d variables are looked at, want each of %d once", name, asked, chained+1)
		}
		trigger := newTrigger(func(tr *v1alpha1.Trigger) {
			pod(tr).Containers[0], tr.Spec.AllowVariables = *c, []string{}
		})
		if got := ScriptWarning(trigger); got != "" {
			t.Errorf("%s: %q, want no warning", name, got)
		}
	}
}
