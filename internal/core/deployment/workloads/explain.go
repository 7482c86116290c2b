package workloads

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

// Explained says what is read of an Environment's workloads, and what would come of it.
type Explained struct {
	Environment  string                `json:"environment"`
	Namespace    string                `json:"namespace"`
	Workloads    []ExplainedWorkload   `json:"workloads"`    // as the Environment names them
	Repositories []ExplainedRepository `json:"repositories"` // with workloads
	Problems     []Problem             `json:"problems"`
	Notes        []string              `json:"notes,omitempty"`
}

// ExplainedWorkload is a workload of an Environment.
type ExplainedWorkload struct {
	Workload   string            `json:"workload"`
	Repository string            `json:"repository,omitempty"`
	Service    string            `json:"service,omitempty"`
	Notify     bool              `json:"notify"`
	Objects    []ExplainedObject `json:"objects"`
}

// ExplainedObject is an object that a workload means.
type ExplainedObject struct {
	Kind      string                 `json:"kind"`
	Namespace string                 `json:"namespace"`
	Name      string                 `json:"name"`
	Revision  string                 `json:"revision,omitempty"`
	Ready     bool                   `json:"ready"`             // its rollout is complete
	Message   string                 `json:"message,omitempty"` // how far the rollout is
	Values    []ReadValue            `json:"values"`
	Digests   []v1alpha1.ImageDigest `json:"digests,omitempty"` // that the status of the Environment has
}

// ReadValue is a value that was read from an object.
type ReadValue struct {
	Field   string `json:"field"` // sha, branch or deploymentType
	Where   string `json:"where"` // in words
	Value   string `json:"value,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// ExplainedRepository is what a rollout of a repository, or of one service of it, would notify.
type ExplainedRepository struct {
	Repository     string             `json:"repository,omitempty"`
	Service        string             `json:"service,omitempty"`
	SHA            string             `json:"sha,omitempty"`
	Branch         string             `json:"branch,omitempty"`
	DeploymentType string             `json:"deploymentType,omitempty"`
	Message        string             `json:"message"` // when it would, or why it would not
	Triggers       []ExplainedTrigger `json:"triggers"`
}

// ExplainedTrigger says whether a Trigger of the Environment would match.
type ExplainedTrigger struct {
	Trigger    string               `json:"trigger"`
	Matched    bool                 `json:"matched"`
	Conditions []ExplainedCondition `json:"conditions"`
}

// ExplainedCondition is a condition of a Trigger.
type ExplainedCondition struct {
	Name    string `json:"name"`
	Held    bool   `json:"held"`
	Message string `json:"message"`
}

// Problem is what is wrong, as the condition Ready says it, and what to do.
type Problem struct {
	Message string `json:"message"`
	Do      string `json:"do,omitempty"`
}

// Explain says what the manager would read now. The Suites may be missing: then a tag that is the beginning of a commit is not completed.
func Explain(o Observed, triggers []*v1alpha1.Trigger, others []v1alpha1.Environment) Explained {
	e := o.Environment
	x := Explained{Environment: e.Name, Namespace: e.Namespace, Workloads: []ExplainedWorkload{}, Repositories: []ExplainedRepository{},
		Problems: []Problem{}}
	if e.Spec.Cluster != "" {
		x.Notes = append(x.Notes, fmt.Sprintf("The cluster %s has this Environment, with its workloads and Triggers: ask there, with "+
			"`postflight explain environment %s --context CONTEXT -n NAMESPACE` and the kubeconfig of that cluster.", e.Spec.Cluster, e.Name))
		return x
	}
	if len(e.Spec.Workloads) == 0 {
		x.Notes = append(x.Notes, "The Environment names no workloads: what is deployed there is known from notifications alone.")
		x.Notes = append(x.Notes, anyTypeWarnings(e, triggers, others)...)
		return x
	}
	for i := range e.Spec.Workloads {
		x.Workloads = append(x.Workloads, explainWorkload(o, e.Spec.Workloads[i]))
	}
	x.Problems = append(append(x.Problems, problemsOf(o)...), invalidExpressions(o)...)
	deployed, also := Status(o)
	for _, problem := range also {
		x.addProblem(Problem{Message: problem})
	}
	for _, d := range deployed {
		if len(d.Workloads) > 0 {
			x.Repositories = append(x.Repositories, explainRepository(o, d, triggers))
		}
	}
	x.Notes = slices.Concat(incomplete(o), MixedServices(e), sharedWorkloads(o, others), anyTypeWarnings(e, triggers, others))
	if o.Team == nil {
		x.Notes = append(x.Notes, "No Team is known that owns the namespace. Without one, rollouts start nothing.")
	}
	return x
}

func (x *Explained) addProblem(p Problem) {
	if !slices.ContainsFunc(x.Problems, func(other Problem) bool { return other.Message == p.Message }) {
		x.Problems = append(x.Problems, p)
	}
}

func explainWorkload(o Observed, w v1alpha1.Workload) ExplainedWorkload {
	source := SourceOf(o.Environment, w)
	x := ExplainedWorkload{Workload: workloadTitle(w, source), Repository: w.Repository, Service: w.Service, Notify: w.Notify,
		Objects: []ExplainedObject{}}
	for _, f := range sorted(o.Found) {
		if f.Object == nil || !reflect.DeepEqual(f.Workload, w) { // workloads of an Environment have no names of their own
			continue
		}
		r := rolloutOf(f.Object)
		object := ExplainedObject{
			Kind: f.Object.GetKind(), Namespace: f.Object.GetNamespace(), Name: f.Object.GetName(),
			Revision: r.revision, Ready: r.ready, Message: r.message,
			Values: f.values(), Digests: f.Digests,
		}
		if known := recorded(o.Environment, f.Object.GetUID()); known != nil && known.Revision == r.revision && f.Digests == nil {
			object.Digests = known.Digests
		}
		x.Objects = append(x.Objects, object)
	}
	return x
}

func workloadTitle(w v1alpha1.Workload, s Source) string {
	if w.Selector != nil {
		return fmt.Sprintf("each %s in namespace %s that the selector matches", s.Kind, s.Namespace)
	}
	return fmt.Sprintf("%s %s in namespace %s", s.Kind, w.Name, s.Namespace)
}

func (f Found) values() (all []ReadValue) {
	for _, field := range fieldsOf(f.Workload) {
		if field.where == nil && field.name != "sha" {
			continue
		}
		v := ReadValue{Field: field.name, Where: placeOf(field.where, f.Object)}
		value, err := f.valueOf(field.where, field.name == "sha")
		if v.Value = strings.TrimSpace(value); err != nil {
			v.Problem = capital(err.Error()) + "."
		}
		all = append(all, v)
	}
	return all
}

type workloadField struct {
	name  string
	where *v1alpha1.WorkloadValue
}

func fieldsOf(w v1alpha1.Workload) []workloadField {
	return []workloadField{{"sha", w.SHA}, {"branch", w.Branch}, {"deploymentType", w.DeploymentType}}
}

// placeOf says where a value is read, or would be.
func placeOf(where *v1alpha1.WorkloadValue, o *unstructured.Unstructured) string {
	containers := containersOf(o)
	ofPods := ""
	if len(containers) > 0 {
		ofPods = " of its pods"
	}
	switch {
	case where == nil && annotation(o, AnnotationSHA) == "" && len(containers) > 0:
		return fmt.Sprintf("the tag of the image of its first container, %s, because its pods have no annotation %s", containers[0].name,
			AnnotationSHA)
	case where == nil:
		return "annotation " + AnnotationSHA + ofPods
	case where.Annotation != "":
		return "annotation " + where.Annotation + ofPods
	case where.ImageTagOf != "":
		return "the tag of the image of container " + where.ImageTagOf
	case where.Expression != "":
		return "expression " + where.Expression
	default:
		return "a value of the Environment"
	}
}

// explainRepository says what would be notified of the commit that the workloads name, once all of them have it.
func explainRepository(o Observed, d v1alpha1.Deployed, triggers []*v1alpha1.Trigger) ExplainedRepository {
	_, said, _ := observe(o, func(_ commit.Part, sha string) string { return sha })
	says := said[keyOf(d)]
	coming := d
	if d.Ready == nil || !*d.Ready {
		coming.SHA = ""
		for _, w := range d.Workloads {
			coming.SHA = cmp.Or(coming.SHA, w.SHA)
		}
		coming.Branch, coming.DeploymentType = says.branch, says.deploymentType
	}
	x := ExplainedRepository{
		Repository: d.Repository, Service: d.Service, SHA: coming.SHA, Branch: coming.Branch, DeploymentType: coming.DeploymentType,
		Message: starts(o, d, coming, says), Triggers: []ExplainedTrigger{},
	}
	if coming.SHA == "" {
		return x
	}
	index := match.Index{}
	for _, t := range triggers {
		if t.Spec.Environment == o.Environment.Name {
			index.Set(t)
		}
	}
	for e := range index.Explain(o.Environment.Namespace, Notification(o.Environment, coming), func() bool { return false }) {
		t := ExplainedTrigger{Trigger: e.Trigger.Name, Matched: e.Matched, Conditions: []ExplainedCondition{}}
		for _, c := range e.Criteria {
			t.Conditions = append(t.Conditions, ExplainedCondition{c.Name, c.Held, c.Message})
		}
		x.Triggers = append(x.Triggers, t)
	}
	return x
}

// starts says when a rollout notifies the Triggers.
func starts(o Observed, d, coming v1alpha1.Deployed, says names) string {
	several := slices.ContainsFunc(d.Workloads, func(w v1alpha1.DeployedWorkload) bool { return w.SHA != "" && w.SHA != coming.SHA })
	switch {
	case coming.SHA == "":
		return "No commit can be read, so nothing is known to start: see the problems."
	case !says.notify:
		return "No workload has notify: true, so a rollout starts nothing. A notification of a pipeline does."
	case o.Team != nil && o.Team.Spec.Suspended:
		return "The team is suspended, so a rollout starts nothing."
	case several:
		return "Its workloads name several commits. A rollout is notified when all have the same one."
	case d.Ready != nil && *d.Ready:
		return strings.Join(slices.DeleteFunc([]string{"This commit is rolled out.", untested(o, d, says),
			"The rollout of another one is notified when it is complete."}, func(sentence string) bool { return sentence == "" }), " ")
	default:
		return "It is notified when the rollout is complete."
	}
}
