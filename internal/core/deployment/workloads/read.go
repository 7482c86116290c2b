package workloads

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// AnnotationSHA is where the commit of a workload is looked for first.
const AnnotationSHA = "postflight.dev/sha"

// names is what an object says of itself.
type names struct {
	repository                  string // as the first workload spells it
	sha, branch, deploymentType string
	notify, byTag               bool // the Triggers are to be notified; the commit is the tag of an image
}

// join returns what several workloads of a repository say together.
func (n names) join(other names, w v1alpha1.Workload) names {
	return names{
		repository: cmp.Or(n.repository, w.Repository), branch: cmp.Or(n.branch, other.branch), deploymentType: cmp.Or(n.deploymentType,
			other.deploymentType),
		notify: n.notify || w.Notify, byTag: n.byTag || other.byTag,
	}
}

// namesNoCommit is how the problem of an object without a commit is told from others.
const namesNoCommit = " names no commit"

// read returns what the object says, or why the Environment is of no use, as a sentence.
func (f Found) read() (n names, problem string) {
	w, o := f.Workload, f.Object
	for _, field := range []struct {
		name  string
		where *v1alpha1.WorkloadValue
		value *string
		max   int
	}{
		{"sha", w.SHA, &n.sha, notification.MaxSHABytes},
		{"branch", w.Branch, &n.branch, notification.MaxBranchBytes},
		{"deploymentType", w.DeploymentType, &n.deploymentType, notification.MaxTextBytes},
	} {
		value, err := f.valueOf(field.where, field.name == "sha")
		value = strings.TrimSpace(value)
		switch {
		case err != nil:
			return n, fmt.Sprintf("The %s of %s cannot be read: %s.", field.name, title(o), err)
		case len(value) > field.max || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
			return n, fmt.Sprintf("The %s of %s is not printable text of at most %d bytes.", field.name, title(o), field.max)
		}
		*field.value = value
	}
	n.byTag = w.SHA == nil && annotation(o, AnnotationSHA) == "" || w.SHA != nil && w.SHA.ImageTagOf != ""
	if n.sha = commit.NormalSHA(n.sha); n.sha == "" {
		annotated := "it"
		if len(containersOf(o)) > 0 {
			annotated = "its pods"
		}
		return n, fmt.Sprintf("%s"+namesNoCommit+": annotate %s with %s, or say in sha where the commit is.", capital(title(o)), annotated,
			AnnotationSHA)
	}
	return n, ""
}

func (f Found) valueOf(where *v1alpha1.WorkloadValue, sha bool) (string, error) {
	o := f.Object
	switch {
	case where == nil && sha:
		return defaultSHA(o), nil
	case where == nil:
		return "", nil
	case where.Annotation != "":
		return annotation(o, where.Annotation), nil
	case where.ImageTagOf != "":
		return tagOf(o, where.ImageTagOf)
	case where.Expression != "":
		return f.Expressions.evaluate(where.Expression, o)
	default:
		return where.Value, nil
	}
}

// defaultSHA never takes the revision of an object of Argo CD or Flux for the commit: that is of the configuration.
func defaultSHA(o *unstructured.Unstructured) string {
	if sha := annotation(o, AnnotationSHA); sha != "" {
		return sha
	}
	containers := containersOf(o)
	if len(containers) == 0 {
		return ""
	}
	tag := tag(containers[0].image)
	if !isCommitOrShort(tag) {
		return ""
	}
	return tag
}

// isCommitOrShort reports whether a text is a commit, perhaps as Git shortens it.
func isCommitOrShort(text string) bool {
	return len(text) >= commit.MinSHAPrefix && len(text) <= 64 && strings.Trim(strings.ToLower(text), "0123456789abcdef") == ""
}

// annotation of an object with pods is theirs: another one of the object itself rolls out nothing.
func annotation(o *unstructured.Unstructured, name string) string {
	if len(containersOf(o)) == 0 {
		return o.GetAnnotations()[name]
	}
	ofPods, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "annotations") // a malformed one has none
	return ofPods[name]
}

type container struct{ name, image string }

func containersOf(o *unstructured.Unstructured) (all []container) {
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers") // a malformed one has none
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			name, _ := c["name"].(string)
			image, _ := c["image"].(string)
			all = append(all, container{name, image})
		}
	}
	return all
}

func tagOf(o *unstructured.Unstructured, name string) (string, error) {
	for _, c := range containersOf(o) {
		if c.name == name {
			return tag(c.image), nil
		}
	}
	return "", fmt.Errorf("it has no container %q", name)
}

// tag returns that of an image such as registry:5000/shop:9c1d2e3@sha256:..., or "".
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	return tag
}

func title(o *unstructured.Unstructured) string { return "the " + o.GetKind() + " " + o.GetName() }

func capital(sentence string) string { return strings.ToUpper(sentence[:1]) + sentence[1:] }
