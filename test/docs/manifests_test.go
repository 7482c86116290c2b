package docs

import (
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/test/apiserver"
)

// TestManifestsInPages: the API server takes each whole object of a page, with strict validation and under the shipped policies. An object
// without apiVersion may be a part: one with a kind of ours has only fields that exist.
func TestManifestsInPages(t *testing.T) {
	s, whole := installed(t), 0
	for _, page := range Pages(t) {
		_, blocks := Read(t, page)
		for _, b := range blocks {
			if b.Language != "yaml" || strings.Contains(b.Text, "{{") { // a template of Helm
				continue
			}
			for _, o := range objectsOf(t, b) {
				done, err := apply(t, s, o)
				if done {
					whole++
				}
				if err != nil {
					t.Errorf("%s, the block of line %d: %v", page, b.Line, err)
				}
			}
		}
	}
	if whole < 20 {
		t.Errorf("only %d objects were applied", whole)
	}
}

// installed is an API server with all that config/default has, and its policies.
func installed(t *testing.T) *apiserver.Server {
	t.Helper()
	s := apiserver.Alone(t)
	out, err := s.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(root(t), "config", "default"))
	if err != nil {
		t.Fatal(err, out)
	}
	return s
}

func objectsOf(t *testing.T, b Block) (all []*unstructured.Unstructured) {
	t.Helper()
	text := placeholder.ReplaceAllString(b.Text, "page")
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var fields any
		err := decoder.Decode(&fields)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Errorf("%s, the block of line %d is no YAML: %v", b.Page, b.Line, err)
			return all
		}
		if object, is := fields.(map[string]any); is && object["kind"] != nil {
			all = append(all, &unstructured.Unstructured{Object: object})
		}
	}
}

// apply asks the API server what it would do, without doing it, and reports whether it knows the kind.
func apply(t *testing.T, s *apiserver.Server, o *unstructured.Unstructured) (known bool, err error) {
	t.Helper()
	part := o.GetAPIVersion() == ""
	if part {
		o.SetAPIVersion("postflight.dev/v1alpha1")
	}
	mapping, err := s.Client.RESTMapper().RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
	if meta.IsNoMatchError(err) {
		return false, nil // of Argo, Flux, Kustomize and others, or a part of such
	}
	if err != nil {
		return false, err
	}
	if o.GetName() == "" {
		o.SetName("page")
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		o.SetNamespace(cmp.Or(o.GetNamespace(), "page"))
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.GetNamespace()}}
		if err := s.Client.Create(t.Context(), namespace); client.IgnoreAlreadyExists(err) != nil {
			return true, err
		}
	}
	err = s.Client.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict"))
	if apierrors.IsAlreadyExists(err) || part && onlyIncomplete(err) {
		return true, nil
	}
	return true, err
}

// onlyIncomplete reports whether the API server finds nothing wrong with what is there. It refuses unknown fields before.
func onlyIncomplete(err error) bool {
	status, is := errors.AsType[*apierrors.StatusError](err)
	return is && apierrors.IsInvalid(err) && !slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type != metav1.CauseTypeFieldValueRequired && c.Field != "<nil>" && !strings.Contains(c.Message, "a Trigger needs a jobTemplate")
	})
}

// placeholder is a name that the reader replaces.
var placeholder = regexp.MustCompile(`\b[A-Z]+_[A-Z]+\b`)

// TestManifestMistakesAreFound tries the test above on each kind of mistake.
func TestManifestMistakesAreFound(t *testing.T) {
	s := apiserver.Alone(t)
	for text, wrong := range map[string]bool{
		"kind: Trigger\nspec: {environment: staging}":                                               false,
		"kind: Trigger\nspec: {ready: {}}":                                                          false,
		"kind: Rollout\nspec: {replica: 1}":                                                         false, // of another project
		"apiVersion: postflight.dev/v1alpha1\nkind: Team\nmetadata: {name: a}":                      false,
		"kind: Trigger\nspec: {environmen: staging}":                                                true,
		"kind: Trigger\nspec: {ready: {timeout: soon}}":                                             true,
		"apiVersion: postflight.dev/v1alpha1\nkind: Team\nmetadata: {name: a}\nspec: {maxSuite: 1}": true,
		"apiVersion: postflight.dev/v1alpha1\nkind: Trigger\nspec: {environment: staging}":          true,
	} {
		for _, o := range objectsOf(t, Block{Text: text}) {
			if _, err := apply(t, s, o); (err != nil) != wrong {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// TestExamplesTellEnvironmentsApart: where an example has several Environments, its Triggers say which deployments they are for.
func TestExamplesTellEnvironmentsApart(t *testing.T) {
	examples := map[string][]*unstructured.Unstructured{}
	samples, err := filepath.Glob(filepath.Join(root(t), "config", "samples", "*.yaml"))
	if err != nil || len(samples) < 10 {
		t.Fatal(samples, err)
	}
	for _, file := range samples {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		examples["config/samples"] = append(examples["config/samples"], objectsOf(t, Block{Page: file, Text: string(content)})...)
	}
	for _, page := range Pages(t) {
		_, blocks := Read(t, page)
		for _, b := range blocks {
			if b.Language == "yaml" && !strings.Contains(b.Text, "{{") {
				examples[page] = append(examples[page], objectsOf(t, b)...)
			}
		}
	}
	const first = "docs/first-team.md" // its reader adds an Environment next
	examples[first] = append(examples[first], objectsOf(t, Block{Text: "kind: Environment\nmetadata: {name: production, namespace: acme}"})...)
	for example, objects := range examples {
		environments := ofKind[v1alpha1.Environment](t, objects, "Environment")
		for _, trigger := range ofKind[v1alpha1.Trigger](t, objects, "Trigger") {
			if warning := match.AnyTypeWarning(&trigger, environments); warning != "" {
				t.Errorf("%s: the Trigger %s: %s", example, trigger.Name, warning)
			}
		}
	}
}

func ofKind[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) (all []T) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() != kind {
			continue
		}
		var one T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &one); err != nil {
			t.Error(err)
		}
		all = append(all, one)
	}
	return all
}

// TestKubectlInPages runs what kubectl creates, on a dry run, and what it gets: the kinds, flags and columns exist.
func TestKubectlInPages(t *testing.T) {
	s := apiserver.Alone(t)
	kubeconfig, home, tried := apiserver.Kubeconfig(t, s.Config), t.TempDir(), 0
	for _, page := range Pages(t) {
		_, blocks := Read(t, page)
		for _, b := range blocks {
			for _, call := range kubectlCalls(b) {
				cmd := exec.CommandContext(t.Context(), "sh", "-c", call)
				cmd.Env = []string{"PATH=" + filepath.Join(root(t), "bin", "cluster") + ":" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig,
					"HOME=" + home}
				out, err := cmd.CombinedOutput()
				tried++
				if err != nil && !strings.Contains(string(out), "(NotFound)") {
					t.Errorf("%s, the block of line %d: %s: %v\n%s", page, b.Line, call, err, out)
				}
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d commands were tried", tried)
	}
}

var (
	kubectlCall = regexp.MustCompile(`(?m)(?:^|\$ )[ \t]*(kubectl (?:create|get) [^|;&>#\n]+)`)
	ofMachine   = regexp.MustCompile(` -f | token | --watch|--from-file|[$…]`)
)

// kubectlCalls leaves out what this machine lacks: files, tokens, and commands of a shell within a command.
func kubectlCalls(b Block) (calls []string) {
	for _, m := range kubectlCall.FindAllStringSubmatch(strings.ReplaceAll(b.Text, "\\\n", " "), -1) {
		switch call := strings.TrimSpace(m[1]); {
		case ofMachine.MatchString(call):
		case strings.HasPrefix(call, "kubectl create "):
			calls = append(calls, call+" --dry-run=client -o name")
		default:
			calls = append(calls, call)
		}
	}
	return calls
}
