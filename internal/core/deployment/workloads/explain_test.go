package workloads

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func trigger(name, environment string, branches ...string) *v1alpha1.Trigger {
	t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	t.Spec.Environment, t.Spec.Match.Branches = environment, branches
	return t
}

// explained is what Explain says of an Environment whose workloads are these, and notify.
func explained(found []Found, change func(*Observed), others ...v1alpha1.Environment) Explained {
	o := Observed{Environment: anEnvironment.DeepCopy(), Team: &v1alpha1.Team{}, Now: noon}
	for i := range found {
		found[i].Workload.Notify = true
		o.Environment.Spec.Workloads = append(o.Environment.Spec.Workloads, found[i].Workload)
	}
	o.Found = found
	other := trigger("other", "nightly")
	other.Spec.Match.DeploymentTypes = []string{"nightly"}
	if change != nil {
		change(&o)
	}
	return Explain(o, []*v1alpha1.Trigger{trigger("any", "staging"), trigger("main", "staging", "main"), other}, others)
}

// TestExplain: what is read, where, and which Triggers would match.
func TestExplain(t *testing.T) {
	const sha = "9c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f6a7b8c9d"
	digests := []v1alpha1.ImageDigest{{Container: "web", Digest: "sha256:1"}}
	x := explained([]Found{found(shop, aDeployment("web", sha, branched("feature")))}, func(o *Observed) {
		o.Environment.Status.Deployed = []v1alpha1.Deployed{{Repository: shop, SHA: sha, Since: at(0), Notification: v1alpha1.NotificationSent, Workloads: []v1alpha1.DeployedWorkload{{UID: "uid-web", Revision: "r-" + sha, Ready: true, Digests: digests}}}}
	})
	want := Explained{
		Environment: "staging", Namespace: "shop", Problems: []Problem{},
		Workloads: []ExplainedWorkload{{Workload: "Deployment web in namespace shop", Repository: shop, Notify: true, Objects: []ExplainedObject{{
			Kind: "Deployment", Namespace: "shop", Name: "web", Revision: "r-" + sha, Ready: true, Digests: digests,
			Values: []ReadValue{{Field: "sha", Where: "annotation postflight.dev/sha of its pods", Value: sha}, {Field: "branch", Where: "annotation branch of its pods", Value: "feature"}},
		}}}},
		Repositories: []ExplainedRepository{{
			Repository: shop, SHA: sha, Branch: "feature", Message: "This commit is rolled out. The rollout of another one is notified when it is complete.",
			Triggers: []ExplainedTrigger{
				{Trigger: "any", Matched: true, Conditions: []ExplainedCondition{}},
				{Trigger: "main", Conditions: []ExplainedCondition{{Name: "branches", Message: `The branch "feature" matches none of "main".`}}},
			},
		}},
	}
	if diff := cmp.Diff(want, x); diff != "" {
		t.Error(diff)
	}
}

// TestExplainWhere names the place of each value.
func TestExplainWhere(t *testing.T) {
	tagged := aDeployment("web", "", set([]any{fields{"name": "web", "image": "registry.example.com/web:9c1d2e3"}}, "spec", "template", "spec", "containers"))
	for name, tc := range map[string]struct {
		where *v1alpha1.WorkloadValue
		want  ReadValue
	}{
		"default":    {nil, ReadValue{Field: "sha", Where: "the tag of the image of its first container, web, because its pods have no annotation postflight.dev/sha", Value: "9c1d2e3"}},
		"tag":        {&v1alpha1.WorkloadValue{ImageTagOf: "web"}, ReadValue{Field: "sha", Where: "the tag of the image of container web", Value: "9c1d2e3"}},
		"no such":    {&v1alpha1.WorkloadValue{ImageTagOf: "api"}, ReadValue{Field: "sha", Where: "the tag of the image of container api", Problem: `It has no container "api".`}},
		"annotation": {&v1alpha1.WorkloadValue{Annotation: "commit"}, ReadValue{Field: "sha", Where: "annotation commit of its pods"}},
		"expression": {&v1alpha1.WorkloadValue{Expression: "object.kind"}, ReadValue{Field: "sha", Where: "expression object.kind", Value: "Deployment"}},
		"value":      {&v1alpha1.WorkloadValue{Value: "v1"}, ReadValue{Field: "sha", Where: "a value of the Environment", Value: "v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]ReadValue{tc.want}, Found{Workload: v1alpha1.Workload{SHA: tc.where}, Object: tagged}.values()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestExplainBadInput: each starts nothing, says why as the condition does, and what to do.
func TestExplainBadInput(t *testing.T) {
	withSHA := func(f Found, expression string) Found {
		f.Workload.SHA = &v1alpha1.WorkloadValue{Expression: expression}
		return f
	}
	unseen := func(problem func(Source) string, do string) Found {
		f := missing(shop, "web")
		f.Problem, f.Do = problem(f.Source), do
		return f
	}
	loops := "object.metadata.name.split('').exists(a, object.long.contains(a)) ? 'a' : 'b'"
	long := set(strings.Repeat("a", 200_000), "long")
	for name, tc := range map[string]struct {
		found      Found
		says, does string
		starts     string
	}{
		"unknown kind":     {unseen(NoKind, DoCorrectKind), "The cluster has no kind Deployment in apps/v1.", "install the CRD", "No commit can be read"},
		"of the cluster":   {unseen(func(s Source) string { return NotNamespaced(s, "root") }, DoCorrectKind), "belong to no namespace", "Correct kind", "No commit can be read"},
		"missing rights":   {unseen(MayNotRead, "x"), "Allow it there with a RoleBinding to the ClusterRole postflight-workloads-reader.", "x", "No commit can be read"},
		"nothing found":    {missing(shop, "web"), "There is no Deployment web in namespace shop.", "Correct the name", "No commit can be read"},
		"malformed":        {withSHA(found(shop, aDeployment("web", "aaaa")), "object."), "The sha of the Deployment web cannot be read: the expression does not compile", "Correct the expression", "No commit can be read"},
		"malformed unseen": {withSHA(missing(shop, "web"), "object."), "The sha of Deployment web in namespace shop cannot be read: the expression does not compile", "Correct the expression", "No commit can be read"},
		"too costly":       {withSHA(found(shop, aDeployment("web", "aaaa", long)), loops), "actual cost limit exceeded", "Make the expression cheaper", "No commit can be read"},
		"no commit":        {found(shop, aDeployment("web", "")), "The Deployment web names no commit: annotate its pods with postflight.dev/sha", "Write the annotation", "No commit can be read"},
		"failed":           {found(shop, aDeployment("web", "aaaa", failed)), "The rollout of the Deployment web failed", "kubectl describe deployment web -n shop", "It is notified when the rollout is complete."},
	} {
		t.Run(name, func(t *testing.T) {
			x := explained([]Found{tc.found}, nil)
			i := -1
			for n, p := range x.Problems {
				if strings.Contains(p.Message, tc.says) {
					i = n
				}
			}
			if i < 0 || !strings.Contains(x.Problems[i].Do, tc.does) {
				t.Errorf("the problems are %+v", x.Problems)
			}
			if len(x.Repositories) != 1 || !strings.Contains(x.Repositories[0].Message, tc.starts) {
				t.Errorf("the repositories are %+v", x.Repositories)
			}
			_, also := Status(Observed{Environment: &anEnvironment, Found: []Found{tc.found}, Now: noon})
			for _, sentence := range also {
				if !strings.Contains(sentence, x.Problems[0].Message) {
					t.Errorf("the condition says %q, and the command %q", sentence, x.Problems[0].Message)
				}
			}
		})
	}
}

// TestExplainNotes: what is allowed, or may end by itself, is no problem.
func TestExplainNotes(t *testing.T) {
	other := v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "qa"}}
	other.Spec.Workloads = []v1alpha1.Workload{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	labeled := aDeployment("web", "aaaa", set(map[string]any{"app": "web"}, "metadata", "labels"))
	stuck := aDeployment("web", "aaaa", rolling)
	for name, tc := range map[string]struct {
		x    Explained
		says string
	}{
		"two Environments": {explained([]Found{found(shop, labeled)}, nil, other, *anEnvironment.DeepCopy()), "The Environment qa in namespace shop names the Deployment web, too."},
		"never ready":      {explained([]Found{found(shop, stuck)}, nil), "1 of 3 replicas of the Deployment web have it. Until the rollout is complete, the commit before it counts as deployed. If it does not end: kubectl describe deployment web -n shop"},
		"no Team":          {explained([]Found{found(shop, labeled)}, func(o *Observed) { o.Team = nil }), "No Team is known that owns the namespace."},
		"some services": {explained([]Found{found(shop, labeled)}, func(o *Observed) {
			o.Environment.Spec.Workloads = []v1alpha1.Workload{{Name: "web", Repository: shop}, {Name: "cart", Repository: shop, Service: "cart"}, {Name: "pay", Repository: "acme/pay", Service: "pay"}}
		}), `Some workloads of the repository "acme/shop" name a service, and others none.`},
		"no workloads": {explained(nil, nil), "The Environment names no workloads"},
		"elsewhere": {explained(nil, func(o *Observed) { o.Environment.Spec.Cluster = "eu" }), "The cluster eu has this Environment, with its workloads and " +
			"Triggers: ask there, with `postflight explain environment staging --context CONTEXT -n NAMESPACE`"},
	} {
		t.Run(name, func(t *testing.T) {
			notes := slices.DeleteFunc(tc.x.Notes, func(note string) bool { return strings.HasPrefix(note, "The Trigger ") })
			if len(notes) != 1 || !strings.HasPrefix(notes[0], tc.says) || len(tc.x.Problems) != 0 {
				t.Errorf("notes %q, problems %+v", notes, tc.x.Problems)
			}
		})
	}
}

// TestExplainStarts says when a rollout is notified.
func TestExplainStarts(t *testing.T) {
	const notified = "aaaa: This commit is rolled out. It is not tested, because its rollout was not notified: when it was complete, "
	follows := func(previous string) func(*Observed) {
		return func(o *Observed) {
			o.Environment.Status.Deployed = []v1alpha1.Deployed{{Repository: shop, SHA: "aaaa", Since: at(0),
				Previous: &v1alpha1.PreviousDeployment{SHA: previous, Since: at(-9)}}}
		}
	}
	for name, tc := range map[string]struct {
		found  []Found
		change func(*Observed)
		want   string
	}{
		"rolled out and notified": {[]Found{found(shop, aDeployment("web", "aaaa"))}, func(o *Observed) {
			o.Environment.Status.Deployed = []v1alpha1.Deployed{{Repository: shop, SHA: "aaaa", Since: at(0), Notification: v1alpha1.NotificationSent}}
		}, "aaaa: This commit is rolled out. The rollout of another one"},
		"notified by a pipeline": {[]Found{found(shop, aDeployment("web", "aaaa"))}, func(o *Observed) {
			o.Suites = []*v1alpha1.Suite{notify(shop, "aaaa", -5)}
		}, "aaaa: This commit is rolled out. The rollout of another one"},
		"seen for the first time": {[]Found{found(shop, aDeployment("web", "aaaa", branched("it's")))}, nil,
			"aaaa: This commit is rolled out. It is not tested, because its rollout was not notified: when it was complete, the Environment saw these " +
				"workloads for the first time, the namespace had no Team, the Team was suspended or no workload had notify: true. To test it, " +
				"notify it once: postflight notify --no-detect --sha aaaa --branch 'it'\\''s' --repository acme/shop. The rollout of another one"},
		"other commits have runs": {[]Found{found(shop, aDeployment("web", "aaaa"))}, func(o *Observed) {
			o.Suites = []*v1alpha1.Suite{notify(shop, "bbbb", -5), notify("acme/pay", "aaaa", -5)}
		}, "aaaa: This commit is rolled out. It is not tested,"},
		"with the same images, perhaps": {[]Found{found(shop, aDeployment("web", a, tagged))}, func(o *Observed) {
			follows("bbbb")(o)
			o.Environment.Status.Deployed[0].SHA = a
		}, strings.Replace(notified, "aaaa", a, 1) + "the Environment saw these workloads for the first time, the namespace had no Team, the Team was suspended, " +
			"no workload had notify: true or the images were the same under another tag. To test it,"},
		"by annotation, whatever the images": {[]Found{found(shop, aDeployment("web", "aaaa"))}, follows("bbbb"),
			notified + "the Environment saw these workloads for the first time, the namespace had no Team, the Team was suspended " +
				"or no workload had notify: true. To test it,"},
		"before the Team was created": {[]Found{found(shop, aDeployment("web", "aaaa"))}, func(o *Observed) {
			follows("bbbb")(o)
			o.Team.Name, o.Team.CreationTimestamp = "shop", *at(5)
		}, notified + "the namespace had no Team (shop was created later), the Environment saw these workloads for the first time, " +
			"the Team was suspended or no workload had notify: true. To test it,"},
		"undone": {[]Found{found(shop, aDeployment("web", "aaaa"))}, follows("aaaa"),
			"aaaa: This commit is rolled out. It is not tested, because its workloads went back to it before all of them had another commit. To test it,"},
		"rolling": {[]Found{found(shop, aDeployment("web", "bbbb", rolling))}, func(o *Observed) {
			o.Environment.Status.Deployed = []v1alpha1.Deployed{{Repository: shop, SHA: "aaaa", Since: at(0)}}
		}, "bbbb: It is notified when the rollout is complete."},
		"several":   {[]Found{found(shop, aDeployment("api", "aaaa")), found(shop, aDeployment("web", "bbbb"))}, nil, "aaaa: Its workloads name several commits."},
		"silent":    {[]Found{found(shop, aDeployment("web", "aaaa"))}, func(o *Observed) { o.Found[0].Workload.Notify = false }, "aaaa: No workload has notify: true"},
		"suspended": {[]Found{found(shop, aDeployment("web", "aaaa"))}, func(o *Observed) { o.Team.Spec.Suspended = true }, "aaaa: The team is suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			x := explained(tc.found, tc.change)
			if len(x.Repositories) != 1 || !strings.HasPrefix(x.Repositories[0].SHA+": "+x.Repositories[0].Message, tc.want) || len(x.Repositories[0].Triggers) != 2 {
				t.Errorf("%+v", x.Repositories)
			}
		})
	}
}

// TestAdvice is a command that can be pasted, where a role is shipped.
func TestAdvice(t *testing.T) {
	for kind, want := range map[string]string{
		"Deployment": "kubectl create rolebinding postflight-workloads -n shop --clusterrole=postflight-workloads-reader --serviceaccount=postflight-system:postflight-manager",
		"Rollout":    "kubectl create rolebinding postflight-workloads -n shop --clusterrole=postflight-gitops-reader --serviceaccount=postflight-system:postflight-manager",
	} {
		if got := Advice(SourceOf(&anEnvironment, v1alpha1.Workload{Kind: kind}), "postflight-system/postflight-manager"); got != want {
			t.Errorf("%s: %s", kind, got)
		}
	}
	if got := Advice(SourceOf(&anEnvironment, v1alpha1.Workload{Kind: "Ingress", APIVersion: "networking.k8s.io/v1"}), "a/b"); !strings.Contains(got, "--clusterrole=ROLE --serviceaccount=a:b, with a ClusterRole that lists and watches Ingress in networking.k8s.io") {
		t.Error(got)
	}
}

// TestExplainOtherTypes: Triggers of the Environment that run for deployments elsewhere, and those of others that run for deployments here,
// are named, whether it has workloads or not.
func TestExplainOtherTypes(t *testing.T) {
	prod := v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "prod"}}
	typed := trigger("typed", "prod")
	typed.Spec.Match.DeploymentTypes = []string{"prod"}
	triggers := []*v1alpha1.Trigger{trigger("e2e", "prod", "main"), typed, trigger("smoke", "staging")}
	for name, o := range map[string]Observed{
		"with workloads": {Environment: &v1alpha1.Environment{ObjectMeta: anEnvironment.ObjectMeta, Spec: v1alpha1.EnvironmentSpec{
			Workloads: []v1alpha1.Workload{{Name: "web", Repository: shop}}}}, Team: &v1alpha1.Team{}, Now: noon},
		"without": {Environment: anEnvironment.DeepCopy(), Team: &v1alpha1.Team{}, Now: noon},
	} {
		t.Run(name, func(t *testing.T) {
			notes := strings.Join(Explain(o, triggers, []v1alpha1.Environment{*o.Environment, prod}).Notes, "\n")
			for _, want := range []string{
				"The Trigger e2e of prod has no deploymentTypes. It also runs when a deployment to staging is notified: list",
				"The Trigger smoke of staging has no deploymentTypes. It also runs when a deployment to prod is notified: list",
			} {
				if !strings.Contains(notes, want) {
					t.Errorf("no %q in\n%s", want, notes)
				}
			}
			if strings.Contains(notes, "typed") {
				t.Error(notes)
			}
			o.Environment.Name = "qa" // which is not applied yet
			if notes := strings.Join(Explain(o, triggers, []v1alpha1.Environment{prod}).Notes, "\n"); !strings.Contains(notes, "to qa") {
				t.Errorf("an Environment of a file is not named: %s", notes)
			}
		})
	}
}
