package job

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

func secret(name string) corev1.EnvFromSource {
	return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

var variablesCases = map[string]struct {
	reason      string
	environment v1alpha1.EnvironmentSpec
	trigger     v1alpha1.Variables
	deployment  v1alpha1.Deployment
	suite       v1alpha1.Variables
	want        map[string]string
}{
	"Always": {
		reason: "The variables that name the run are there even where there is nothing to name; URL is not.",
		want:   map[string]string{},
	},
	"TriggerOverEnvironment": {
		reason:      "A Trigger is more specific than its Environment.",
		environment: v1alpha1.EnvironmentSpec{Variables: v1alpha1.Variables{"A": "environment", "B": "environment"}},
		trigger:     v1alpha1.Variables{"A": "trigger"},
		want:        map[string]string{"A": "trigger", "B": "environment"},
	},
	"SuiteOverTrigger": {
		reason:  "A notification has the last word.",
		trigger: v1alpha1.Variables{"A": "trigger"},
		suite:   v1alpha1.Variables{"A": ""},
		want:    map[string]string{"A": ""},
	},
	"URLOfEnvironment": {
		reason:      "Without a deployment_url the Environment says where it is, whatever variables are called URL.",
		environment: v1alpha1.EnvironmentSpec{URL: "https://staging", Variables: v1alpha1.Variables{"URL": "no"}},
		trigger:     v1alpha1.Variables{"URL": "no"},
		want:        map[string]string{"URL": "https://staging"},
	},
	"URLOfDeployment": {
		reason:      "A deployment_url is where the deployment is.",
		environment: v1alpha1.EnvironmentSpec{URL: "https://staging"},
		deployment:  v1alpha1.Deployment{URL: "https://pr-7"},
		want:        map[string]string{"URL": "https://pr-7"},
	},
	"URLOfSuite": {
		reason:     "A variable URL of the notification wins even over its deployment_url.",
		deployment: v1alpha1.Deployment{URL: "https://pr-7"},
		suite:      v1alpha1.Variables{"URL": "https://mine"},
		want:       map[string]string{"URL": "https://mine"},
	},
	"URLOfTrigger": {
		reason:  "Where neither names a URL, a variable of that name is as good as any.",
		trigger: v1alpha1.Variables{"URL": "https://mine"},
		want:    map[string]string{"URL": "https://mine"},
	},
	"Service": {
		reason:     "The tests of a monorepo know which of its services was deployed.",
		deployment: v1alpha1.Deployment{Service: "cart"}, suite: v1alpha1.Variables{"POSTFLIGHT_SERVICE": "no"},
		want: map[string]string{"POSTFLIGHT_SERVICE": "cart"},
	},
	"Reserved": {
		reason:      "A notification cannot make its run look like another one.",
		environment: v1alpha1.EnvironmentSpec{Variables: v1alpha1.Variables{"POSTFLIGHT_SHA": "no"}},
		trigger:     v1alpha1.Variables{"POSTFLIGHT_BRANCH": "no"},
		suite:       v1alpha1.Variables{"POSTFLIGHT_SUITE_ID": "no", "POSTFLIGHT_ENVIRONMENT": "no"},
		deployment:  v1alpha1.Deployment{SHA: "cafe", Branch: "refs/heads/main"},
		want:        map[string]string{"POSTFLIGHT_SHA": "cafe", "POSTFLIGHT_BRANCH": "refs/heads/main"},
	},
}

func TestVariables(t *testing.T) {
	for name, tc := range variablesCases {
		t.Run(name, func(t *testing.T) {
			want := map[string]string{
				"POSTFLIGHT_SUITE_ID": "smoke-1", "POSTFLIGHT_ENVIRONMENT": "staging",
				"POSTFLIGHT_BRANCH": "", "POSTFLIGHT_SHA": "",
			}
			for k, v := range tc.want {
				want[k] = v
			}
			s := newSuite(func(s *v1alpha1.Suite) { s.Spec.Deployment, s.Spec.Variables = tc.deployment, tc.suite })
			trigger := newTrigger(func(t *v1alpha1.Trigger) { t.Spec.Variables = tc.trigger })
			j := Build(s, trigger, newEnvironment(func(e *v1alpha1.Environment) { e.Spec = tc.environment }))
			if diff := cmp.Diff(want, values(j.Spec.Template.Spec.Containers[0])); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWithVariables(t *testing.T) {
	fromSecret := corev1.EnvVar{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "token"}}}
	cases := map[string]struct {
		reason    string
		template  []corev1.EnvVar
		variables map[string]string
		want      []corev1.EnvVar
	}{
		"Sorted": {
			reason:    "The same run always makes the same Job.",
			variables: map[string]string{"B": "2", "A": "1", "C": "3"},
			want:      []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "C", Value: "3"}},
		},
		"Before": {
			reason:    "An entry of the template may refer to a variable only where that stands before it.",
			template:  []corev1.EnvVar{{Name: "LOGIN", Value: "$(URL)/login"}, fromSecret},
			variables: map[string]string{"URL": "https://staging"},
			want:      []corev1.EnvVar{{Name: "URL", Value: "https://staging"}, {Name: "LOGIN", Value: "$(URL)/login"}, fromSecret},
		},
		"Overridden": {
			reason:    "No name is there twice, and ours is the one that stays, be it instead of a secret.",
			template:  []corev1.EnvVar{{Name: "Z", Value: "z"}, fromSecret, {Name: "A", Value: "a"}, {Name: "TOKEN", Value: "t"}},
			variables: map[string]string{"TOKEN": "mine"},
			want:      []corev1.EnvVar{{Name: "TOKEN", Value: "mine"}, {Name: "Z", Value: "z"}, {Name: "A", Value: "a"}},
		},
		"Escaped": {
			reason:    "What we write is no reference; what the template writes may be.",
			template:  []corev1.EnvVar{{Name: "B", Value: "$(A)"}},
			variables: map[string]string{"A": "$(B) costs $5"},
			want:      []corev1.EnvVar{{Name: "A", Value: "$$(B) costs $$5"}, {Name: "B", Value: "$(A)"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, withVariables(tc.template, tc.variables)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestEveryContainer(t *testing.T) {
	trigger := newTrigger(func(t *v1alpha1.Trigger) {
		pod(t).InitContainers = []corev1.Container{
			{Name: "migrate"},
			{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
		}
		pod(t).Containers = []corev1.Container{{Name: "test", EnvFrom: []corev1.EnvFromSource{secret("mine")}}, {Name: "browser"}}
	})
	e := newEnvironment(func(e *v1alpha1.Environment) {
		e.Spec.URL = "https://staging"
		e.Spec.VariablesFrom = []corev1.EnvFromSource{secret("shop")}
	})
	j := Build(newSuite(), trigger, e)
	want := map[string][]corev1.EnvFromSource{
		"migrate": {secret("shop")}, "proxy": {secret("shop")}, "browser": {secret("shop")},
		"test": {secret("shop"), secret("mine")}, // the later one wins
	}
	got := map[string][]corev1.EnvFromSource{}
	for c := range Containers(&j.Spec.Template.Spec) {
		got[c.Name] = c.EnvFrom
		if url := values(*c)["URL"]; url != "https://staging" {
			t.Errorf("URL of container %q: want https://staging, got %q", c.Name, url)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("envFrom: -want, +got:\n%s", diff)
	}
}

// TestByteForByte gives a container random variables, with many references that Kubernetes expands, and expands them
// as the kubelet does.
func TestByteForByte(t *testing.T) {
	random := tier.Random(t)
	parts := []string{"$", "$", "(", ")", "A", "B", "$(A)", "$$(B)", "$(", " ", "é", "\xff", "\n"}
	value := func() string {
		var b strings.Builder
		for range random.IntN(9) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		return b.String()
	}
	template := []corev1.EnvVar{{Name: "D", Value: "d"}, {Name: "A", Value: "$(D)"}, {Name: "E", Value: "$(A)$(D)"}}
	for range 20_000 {
		want := map[string]string{"A": value(), "B": value(), "C": value()}
		env := withVariables(template, want)
		got := kubelet(env)
		for name, value := range want {
			if got[name] != value {
				t.Fatalf("%s: want %q, got %q, from %v", name, value, got[name], env)
			}
		}
		if e := want["A"] + "d"; got["E"] != e {
			t.Fatalf("E of the template: want %q, got %q", e, got["E"])
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, value := range []string{"", "$", "$$", "$(", "$(A)", "$$(A)", "$$$(A)", "$()", "a$", "$\xff", "${A}", "$($(A))"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, defined := range []map[string]string{{}, {"A": "no", "": "no", "$(A": "no"}} {
			if got := expand(escape(value), defined); got != value {
				t.Errorf("want %q, got %q", value, got)
			}
		}
	})
}

// kubelet evaluates variables one after the other, each seeing those before it.
func kubelet(env []corev1.EnvVar) map[string]string {
	defined := map[string]string{}
	for _, e := range env {
		defined[e.Name] = expand(e.Value, defined)
	}
	return defined
}

// expand treats a value as the kubelet does: $$ is $, $(NAME) is the value of NAME where that is
// defined and stays as it is where it is not, and any other $ stays. It goes over the value once, and
// takes a $ with the byte or the character after it.
func expand(value string, defined map[string]string) string {
	var b strings.Builder
	for value != "" {
		i := strings.IndexByte(value, '$')
		if i < 0 || i == len(value)-1 {
			return b.String() + value
		}
		b.WriteString(value[:i])
		value = value[i+1:]
		end := strings.IndexByte(value, ')')
		switch {
		case value[0] == '$':
			b.WriteByte('$')
			value = value[1:]
		case value[0] == '(' && end > 0:
			if v, ok := defined[value[1:end]]; ok {
				b.WriteString(v)
			} else {
				b.WriteString("$" + value[:end+1])
			}
			value = value[end+1:]
		case value[0] == '(':
			b.WriteString("$(")
			value = value[1:]
		default:
			r, size := utf8.DecodeRuneInString(value) // a byte that is no UTF-8 is replaced
			b.WriteString("$" + string(r))
			value = value[size:]
		}
	}
	return b.String()
}

// The reference has to be right itself: these are cases of Kubernetes' own.
func TestExpand(t *testing.T) {
	defined := map[string]string{"VAR_A": "A", "VAR_REF": "$(VAR_A)", "VAR_EMPTY": ""}
	cases := map[string]string{
		"$(VAR_A)": "A", "___$(VAR_A)___": "___A___", "$(VAR_REF)": "$(VAR_A)", "$(VAR_DNE)": "$(VAR_DNE)",
		"$$(VAR_A)": "$(VAR_A)", "$$$(VAR_A)": "$A", "$$$$(VAR_A)": "$$(VAR_A)", "foo$$": "foo$", "foo$": "foo$",
		"$(VAR_A": "$(VAR_A", "$VAR_A": "$VAR_A", "$(VAR_EMPTY)": "", "$()": "$()", "$((VAR_A)": "$((VAR_A)",
		"$x$": "$x$", "\n$(VAR_A)": "\nA", "$\xff$(VAR_A)": "$\uFFFDA", "$é$(VAR_A)": "$éA",
	}
	for value, want := range cases {
		if got := expand(value, defined); got != want {
			t.Errorf("expand(%q): want %q, got %q", value, want, got)
		}
	}
}
