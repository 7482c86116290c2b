package job

import (
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
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
		v := newScriptVariables(c.Env, func(name string) bool { return senderDecides(t, name) })
		for name := range references(shellScript(c)) {
			if v.decided(name) {
				return fmt.Sprintf("The container %q runs a shell with $(%s): who notifies can run commands in it, "+
					"because Kubernetes puts the value into the script. Write \"$%s\", with the quotes.",
					plaintext.Line(c.Name, maxName), plaintext.Line(name, maxName), plaintext.Line(name, maxName))
			}
		}
	}
	return ""
}

// shellScript is what a shell gets with -c, with the arguments after it, or "". A later shell is an argument of the first one.
func shellScript(c *corev1.Container) string {
	words := slices.Concat(c.Command, c.Args)
	shell := slices.IndexFunc(words, func(word string) bool { return slices.Contains(shells, path.Base(word)) })
	if shell < 0 {
		return ""
	}
	words = words[shell+1:]
	if flag := slices.IndexFunc(words, scriptFlag.MatchString); flag >= 0 && flag+1 < len(words) {
		return words[flag+1]
	}
	return ""
}

// references are the variables that the kubelet replaces in a text.
func references(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for m := reference.FindStringSubmatchIndex(text); m != nil; m = reference.FindStringSubmatchIndex(text) {
			if dollars := m[3] - m[2]; dollars%2 == 1 && !yield(text[m[4]:m[5]]) {
				return
			}
			text = text[m[1]:]
		}
	}
}

// senderDecides reports whether a notification can set a variable.
func senderDecides(t *v1alpha1.Trigger, name string) bool {
	return slices.Contains([]string{variableURL, variableBranch, variableSHA}, name) ||
		!notification.Reserved(name) && notification.Allowed(name, t.Spec.AllowVariables)
}

// scriptVariables are the variables of a container. Each is looked at once, however many refer to it: a template may have thousands.
type scriptVariables struct {
	values        map[string][]string
	senderDecides func(name string) bool
	seen          map[string]bool
}

func newScriptVariables(env []corev1.EnvVar, senderDecides func(string) bool) *scriptVariables {
	v := &scriptVariables{values: map[string][]string{}, senderDecides: senderDecides, seen: map[string]bool{}}
	for _, e := range env {
		v.values[e.Name] = append(v.values[e.Name], e.Value)
	}
	return v
}

// decided reports whether a sender decides a variable, perhaps through others that its value refers to. Do not ask again after true.
func (v *scriptVariables) decided(name string) bool {
	for names := []string{name}; len(names) > 0; {
		name, names = names[len(names)-1], names[:len(names)-1]
		if v.seen[name] {
			continue
		}
		v.seen[name] = true
		if v.senderDecides(name) {
			return true
		}
		for _, value := range v.values[name] {
			for other := range references(value) {
				if !v.seen[other] {
					names = append(names, other)
				}
			}
		}
	}
	return false
}
