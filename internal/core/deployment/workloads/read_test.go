package workloads

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const wholeSHA = "9c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f6a7b8c9d"

type (
	value  = v1alpha1.WorkloadValue
	change = func(*unstructured.Unstructured)
)

func image(image string) change {
	return func(u *unstructured.Unstructured) {
		set([]any{fields{"name": "web", "image": image}, fields{"name": "proxy", "image": "envoy:v1.36.2"}}, "spec", "template", "spec", "containers")(u)
		unannotated(u)
	}
}

func unannotated(u *unstructured.Unstructured) {
	u.SetAnnotations(nil)
	unstructured.RemoveNestedField(u.Object, "spec", "template", "metadata")
}

func onPods(name, text string) change {
	return set(text, "spec", "template", "metadata", "annotations", name)
}

func onObject(name, text string) change { return set(text, "metadata", "annotations", name) }

func TestRead(t *testing.T) {
	where := func(v value) v1alpha1.Workload { return v1alpha1.Workload{Name: "web", SHA: &v} }
	const unnamed = "The Deployment web names no commit: annotate its pods with postflight.dev/sha, or say in sha where the commit is."
	for name, tc := range map[string]struct {
		reason  string
		of      v1alpha1.Workload
		object  []change
		want    names
		problem string
	}{
		"the annotation of the object": {"another one would roll out nothing", v1alpha1.Workload{}, []change{unannotated, onObject(AnnotationSHA, wholeSHA)}, names{}, unnamed},
		"the annotation of the pods":   {"that is the default", v1alpha1.Workload{}, nil, names{sha: wholeSHA}, ""},
		"both annotations":             {"that of the pods decides", v1alpha1.Workload{}, []change{onObject(AnnotationSHA, "other")}, names{sha: wholeSHA}, ""},
		"the annotation and the tag":   {"the annotation says it on purpose", v1alpha1.Workload{}, []change{image("shop:1234567"), onPods(AnnotationSHA, wholeSHA)}, names{sha: wholeSHA}, ""},
		"spaces around":                {"a YAML block ends with a line feed", v1alpha1.Workload{}, []change{onPods(AnnotationSHA, " "+wholeSHA+"\n")}, names{sha: wholeSHA}, ""},
		"upper case":                   {"== compares commits", v1alpha1.Workload{}, []change{onPods(AnnotationSHA, strings.ToUpper(wholeSHA))}, names{sha: wholeSHA}, ""},
		"other text":                   {"not every deployment is of a commit", v1alpha1.Workload{}, []change{onPods(AnnotationSHA, "Release 12")}, names{sha: "Release 12"}, ""},
		"the tag":                      {"of the first container", v1alpha1.Workload{}, []change{image("shop:9c1d2e3")}, names{sha: "9c1d2e3", byTag: true}, ""},
		"the tag after a port":         {"the port is no tag", v1alpha1.Workload{}, []change{image("registry:5000/acme/shop:" + wholeSHA)}, names{sha: wholeSHA, byTag: true}, ""},
		"the tag before a digest":      {"both may be given", v1alpha1.Workload{}, []change{image("registry:5000/shop:9c1d2e3@sha256:" + strings.Repeat("ab", 32))}, names{sha: "9c1d2e3", byTag: true}, ""},
		"a tag in upper case":          {"images may have such tags", v1alpha1.Workload{}, []change{image("shop:9C1D2E3")}, names{sha: "9C1D2E3", byTag: true}, ""},
		"a tag of SHA-256":             {"64 digits", v1alpha1.Workload{}, []change{image("shop:" + strings.Repeat("ab", 32))}, names{sha: strings.Repeat("ab", 32), byTag: true}, ""},
		"a port and no tag":            {"5000 is a port", v1alpha1.Workload{}, []change{image("registry:5000000/shop")}, names{}, unnamed},
		"a digest and no tag":          {"that of an image is no commit", v1alpha1.Workload{}, []change{image("shop@sha256:" + strings.Repeat("ab", 32))}, names{}, unnamed},
		"a short tag":                  {"Git abbreviates to 7 digits at least", v1alpha1.Workload{}, []change{image("shop:9c1d2e")}, names{}, unnamed},
		"a long tag":                   {"no hash has 65 digits", v1alpha1.Workload{}, []change{image("shop:" + strings.Repeat("a", 65))}, names{}, unnamed},
		"a version":                    {"a tag with other characters is none", v1alpha1.Workload{}, []change{image("shop:v1.2.3-beta")}, names{}, unnamed},
		"latest":                       {"nor is this", v1alpha1.Workload{}, []change{image("shop:latest")}, names{}, unnamed},
		"no image":                     {"an admission policy may set it", v1alpha1.Workload{}, []change{image("")}, names{}, unnamed},
		"no pods":                      {"an object of Flux has none", v1alpha1.Workload{}, []change{unannotated, set(fields{}, "spec")}, names{}, strings.Replace(unnamed, "its pods", "it", 1)},
		"malformed annotations":        {"those of pods are not checked in all kinds", v1alpha1.Workload{}, []change{unannotated, set(fields{AnnotationSHA: int64(7)}, "spec", "template", "metadata", "annotations")}, names{}, unnamed},
		"malformed containers":         {"nor are these", v1alpha1.Workload{}, []change{unannotated, set([]any{"x", fields{"name": int64(1), "image": true}}, "spec", "template", "spec", "containers")}, names{}, unnamed},
		"a container":                  {"of several, a workload names one", where(value{ImageTagOf: "proxy"}), []change{image("shop:9c1d2e3")}, names{sha: "v1.36.2", byTag: true}, ""},
		"a missing container":          {"its name may be misspelt", where(value{ImageTagOf: "prox"}), []change{image("shop:9c1d2e3")}, names{}, `The sha of the Deployment web cannot be read: it has no container "prox".`},
		"a container without a tag":    {"there is nothing to read", where(value{ImageTagOf: "web"}), nil, names{}, unnamed},
		"another annotation":           {"as a team writes it", where(value{Annotation: "acme.example/commit"}), []change{onPods("acme.example/commit", wholeSHA)}, names{sha: wholeSHA}, ""},
		"a missing annotation":         {"the default is not tried then", where(value{Annotation: "acme.example/commit"}), nil, names{}, unnamed},
		"a constant":                   {"an Environment may have one version for ever", where(value{Value: "v12"}), nil, names{sha: "v12"}, ""},
		"an expression":                {"as the tag of a label", where(value{Expression: "object.spec.template.metadata.annotations['postflight.dev/sha'].substring(0, 7)"}), nil, names{sha: wholeSHA[:7]}, ""},
		"an empty expression":          {"a text of no characters names nothing", where(value{Expression: "object.metadata.name.substring(0, 0)"}), nil, names{}, unnamed},
		"branch and type": {"all three have places", v1alpha1.Workload{Branch: &value{Annotation: "branch"}, DeploymentType: &value{Value: "nightly"}},
			[]change{onPods("branch", "refs/heads/main")}, names{sha: wholeSHA, branch: "refs/heads/main", deploymentType: "nightly"}, ""},
		"no branch":           {"it may be absent", v1alpha1.Workload{Branch: &value{Annotation: "branch"}}, nil, names{sha: wholeSHA}, ""},
		"the longest":         {"128 bytes", v1alpha1.Workload{}, []change{onPods(AnnotationSHA, strings.Repeat("x", 128))}, names{sha: strings.Repeat("x", 128)}, ""},
		"too long":            {"129", v1alpha1.Workload{}, []change{onPods(AnnotationSHA, strings.Repeat("x", 129))}, names{}, "The sha of the Deployment web is not printable text of at most 128 bytes."},
		"a control character": {"a terminal would obey it", v1alpha1.Workload{}, []change{onPods(AnnotationSHA, "a\x1b[31mb")}, names{}, "The sha of the Deployment web is not printable text of at most 128 bytes."},
		"an invisible one":    {"two commits would look the same", v1alpha1.Workload{}, []change{onPods(AnnotationSHA, "a\u200bb")}, names{}, "The sha of the Deployment web is not printable text of at most 128 bytes."},
		"a long branch":       {"1,025 bytes", v1alpha1.Workload{Branch: &value{Expression: "object.long"}}, []change{set(strings.Repeat("x", 1025), "long")}, names{sha: wholeSHA}, "The branch of the Deployment web is not printable text of at most 1024 bytes."},
		"a long type":         {"257 bytes", v1alpha1.Workload{DeploymentType: &value{Expression: "object.long"}}, []change{set(strings.Repeat("x", 257), "long")}, names{sha: wholeSHA}, "The deploymentType of the Deployment web is not printable text of at most 256 bytes."},
	} {
		t.Run(name, func(t *testing.T) {
			got, problem := Found{Workload: tc.of, Object: aDeployment("web", wholeSHA, tc.object...)}.read()
			if problem != tc.problem {
				t.Errorf("%s: problem %q, want %q", tc.reason, problem, tc.problem)
			}
			if problem == "" {
				if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(names{})); diff != "" {
					t.Errorf("%s\n%s", tc.reason, diff)
				}
			}
		})
	}
}
