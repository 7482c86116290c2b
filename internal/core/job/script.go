package job

import (
	"fmt"
	"path"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/notification"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
)

var (
	shells = []string{"sh", "ash", "bash", "dash", "ksh", "zsh"}
	// scriptFlag matches -c, also with other letters, as in -ec.
	scriptFlag = regexp.MustCompile(`^-[a-zA-Z]*c[a-zA-Z]*$`)
	// reference matches what the kubelet replaces by a variable, if the number of $ is odd: $$ is a $.
	reference = regexp.MustCompile(`(\$+)\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)`)
)

// ScriptWarning says which container of a Trigger's template has a value that senders decide replaced in the script of a shell, or "".
func ScriptWarning(t *v1alpha1.Trigger) string {
	for c := range Containers(&t.Spec.JobTemplate.Spec.Template.Spec) {
		for _, name := range references(shellScript(c)) {
			if senderDecides(t, c, name, map[string]bool{}) {
				return fmt.Sprintf("The container %q runs a shell with $(%s): who notifies can run commands in it, "+
					"because Kubernetes puts the value into the script. Write \"$%s\", with the quotes.",
					plaintext.Line(c.Name, maxName), plaintext.Line(name, maxName), plaintext.Line(name, maxName))
			}
		}
	}
	return ""
}

// shellScript is what a shell gets with -c, with the arguments after it, or "".
func shellScript(c *corev1.Container) string {
	words := slices.Concat(c.Command, c.Args)
	for i, word := range words {
		if !slices.Contains(shells, path.Base(word)) {
			continue
		}
		for j, flag := range words[i+1:] {
			if scriptFlag.MatchString(flag) && i+j+2 < len(words) {
				return words[i+j+2]
			}
		}
	}
	return ""
}

// references are the variables that the kubelet replaces in a text.
func references(text string) (names []string) {
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		if len(m[1])%2 == 1 {
			names = append(names, m[2])
		}
	}
	return names
}

// senderDecides reports whether a notification can set a variable of a container, perhaps through one of its template.
func senderDecides(t *v1alpha1.Trigger, c *corev1.Container, name string, seen map[string]bool) bool {
	if slices.Contains([]string{variableURL, variableBranch, variableSHA}, name) ||
		!notification.Reserved(name) && notification.Allowed(name, t.Spec.AllowVariables) {
		return true
	}
	if seen[name] {
		return false
	}
	seen[name] = true
	for _, e := range c.Env {
		if e.Name == name && slices.ContainsFunc(references(e.Value), func(other string) bool { return senderDecides(t, c, other, seen) }) {
			return true
		}
	}
	return false
}
