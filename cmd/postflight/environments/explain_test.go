package environments

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/test/clitest"
)

// rolledOut is a Deployment. All its pods have the commit.
func rolledOut(name, sha string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name, Labels: map[string]string{"app": name},
		Annotations: map[string]string{"deployment.kubernetes.io/revision": "7"}}}
	d.Spec.Replicas = new(int32(1))
	d.Spec.Template.Annotations = map[string]string{"postflight.dev/sha": sha}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1",
		Env: []corev1.EnvVar{{Name: "TOKEN", Value: "hunter2"}}}}
	d.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}, {Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue,
				Reason: "NewReplicaSetAvailable"},
		}}
	return d
}

func namingWorkloads(all ...v1alpha1.Workload) *v1alpha1.Environment {
	return &v1alpha1.Environment{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Environment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "staging"}, Spec: v1alpha1.EnvironmentSpec{Workloads: all}}
}

// withKinds is a client of a cluster that has the kinds of its scheme.
type withKinds struct{ client.Client }

func (c withKinds) RESTMapper() meta.RESTMapper {
	return testrestmapper.TestOnlyStaticRESTMapper(c.Scheme())
}

// rightsOf says whether the user and the manager can read workloads. Without reviews, the user cannot ask about rights.
type rightsOf struct {
	user, manager, reviews bool
}

func (r rightsOf) funcs() interceptor.Funcs {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", nil)
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, workload := o.(*unstructured.Unstructured); workload && !r.user {
				return forbidden
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if review := o.(*authorizationv1.SubjectAccessReview); r.reviews {
				review.Status.Allowed = r.manager && review.Spec.User == "system:serviceaccount:postflight-system:postflight-manager"
				return nil
			}
			return forbidden
		},
	}
}

// TestExplainEnvironment reads with the user's rights, and says what is wrong with the manager's.
func TestExplainEnvironment(t *testing.T) {
	all := rightsOf{true, true, true}
	team := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}}
	e2e := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "e2e"}}
	e2e.Spec.Environment = "staging"
	strict := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "strict"}}
	strict.Spec.Environment, strict.Spec.Match.Branches = "staging", []string{"main"}
	web := v1alpha1.Workload{Name: "web", Repository: "acme/shop", Notify: true}
	told := namingWorkloads(web)
	told.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
		Message: workloads.MayNotRead(workloads.SourceOf(told, web))}}
	qa := namingWorkloads(v1alpha1.Workload{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}})
	qa.Name = "qa"
	const binding = "→ kubectl create rolebinding postflight-workloads -n acme " +
		"--clusterrole=postflight-workloads-reader --serviceaccount=postflight-system:postflight-manager"
	for name, tc := range map[string]struct {
		rights   rightsOf
		e        *v1alpha1.Environment
		more     []client.Object
		code     int
		out, log []string
	}{
		"all is well": {all, namingWorkloads(web), nil, 0, []string{"Deployment acme/web", "rolled out",
			"5ca1ab1e, from annotation postflight.dev/sha of its pods", "This commit is rolled out.",
			"e2e matches", "strict does not match", "branches: "}, nil},
		"missing rights of the manager": {rightsOf{true, false, true}, namingWorkloads(web), nil, 1, []string{"5ca1ab1e"},
			[]string{"Problem: The manager may not read objects of kind Deployment in namespace acme.", binding}},
		"as the status says": {rightsOf{true, false, false}, told, nil, 1, nil,
			[]string{"Problem: The manager may not read", binding}},
		"nobody says": {rightsOf{true, false, false}, namingWorkloads(web), nil, 0, []string{"5ca1ab1e"}, nil},
		"missing rights of the user": {rightsOf{false, true, true}, namingWorkloads(web), nil, 1, []string{"nothing is read"},
			[]string{"Problem: You may not read objects of kind Deployment in namespace acme.", "→ Ask for a role"}},
		"unknown kind": {all, namingWorkloads(v1alpha1.Workload{Kind: "Rollout", Name: "web"}), nil, 1, nil,
			[]string{"The cluster has no kind Rollout in argoproj.io/v1alpha1.", "install the CRD"}},
		"nothing found": {all, namingWorkloads(v1alpha1.Workload{Name: "api"}), nil, 1, nil,
			[]string{"There is no Deployment api in namespace acme.", "Correct the name"}},
		"a kind that is no workload": {all, namingWorkloads(v1alpha1.Workload{APIVersion: "batch/v1", Kind: "Job", Name: "x"}), nil, 1,
			nil, []string{"Objects of kind Job in batch/v1 cannot be workloads."}},
		"another namespace": {all, namingWorkloads(v1alpha1.Workload{Name: "web", Namespace: "bank"}), nil, 1, nil,
			[]string{"ask your operator to list Deployment web in namespace bank"}},
		"malformed": {all, namingWorkloads(v1alpha1.Workload{Name: "web",
			SHA: &v1alpha1.WorkloadValue{Expression: "object."}}), nil, 1, []string{"expression object.. The expression does not compile"},
			[]string{"The sha of the Deployment web cannot be read", "Correct the expression"}},
		"secrets of pods": {all, namingWorkloads(v1alpha1.Workload{Name: "web",
			SHA: &v1alpha1.WorkloadValue{Expression: "object.spec.template.spec.containers[0].env[0].value"}}), nil, 1, nil,
			[]string{"no such key: env"}},
		"by its labels, named by two": {all, namingWorkloads(v1alpha1.Workload{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}), []client.Object{qa}, 0,
			[]string{"Deployment acme/web"}, []string{"Note: The Environment qa in namespace acme names the Deployment web, too."}},
		"a selector that is not valid": {all, namingWorkloads(v1alpha1.Workload{Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Nope"}}}}), nil, 1, nil,
			[]string{"No Deployment in namespace acme matches the selector."}},
		"an Environment without workloads": {all, namingWorkloads(), nil, 0, nil, []string{"The Environment names no workloads"}},
	} {
		t.Run(name, func(t *testing.T) {
			console, out, log := clitest.Console()
			c := clitest.Cluster(console, append([]client.Object{team, e2e, strict, tc.e, rolledOut("web", "5ca1ab1e")}, tc.more...)...)
			c.Client = withKinds{interceptor.NewClient(c.Client.(client.WithWatch), tc.rights.funcs())}
			o := ExplainOptions{Cluster: c, Manager: "postflight-system/postflight-manager"}
			if code := clitest.ExitCode(o.Run(t.Context(), []string{"staging"})); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			clitest.Contains(t, "standard output", out.String(), tc.out...)
			clitest.Contains(t, "standard error", log.String(), tc.log...)
			if tc.code == 0 && strings.Contains(log.String(), "Problem") || strings.Contains(out.String()+log.String(), "hunter2") {
				t.Errorf("standard error:\n%s", log)
			}
		})
	}
}

// TestExplainEnvironmentOfAFile: what is not applied yet is read as if it were.
func TestExplainEnvironmentOfAFile(t *testing.T) {
	const file = "apiVersion: postflight.dev/v1alpha1\nkind: Environment\nmetadata: {name: new}\n" +
		"spec:\n  workloads:\n    - {name: web, repository: acme/shop}\n"
	for name, tc := range map[string]struct {
		file, args string
		code       int
		says       string
	}{
		"good":              {file, "", 0, ""},
		"an unknown field":  {file + "      notifyy: true\n", "", 3, "is no Environment"},
		"another kind":      {strings.Replace(file, "Environment", "Trigger", 1), "", 3, "is no Environment of postflight.dev/v1alpha1"},
		"no name":           {strings.Replace(file, "{name: new}", "{}", 1), "", 3, "with a name"},
		"no YAML":           {"\t", "", 3, "is no Environment"},
		"a file and a name": {file, "staging", 3, "name the Environment, or with -f a file"},
	} {
		t.Run(name, func(t *testing.T) {
			console, out, _ := clitest.Console()
			console.JSON = true
			c := clitest.Cluster(console, rolledOut("web", "5ca1ab1e"))
			c.Client = withKinds{interceptor.NewClient(c.Client.(client.WithWatch), rightsOf{true, true, true}.funcs())}
			o := ExplainOptions{Cluster: c, Manager: "postflight-system/postflight-manager", File: "-", In: strings.NewReader(tc.file)}
			err := o.Run(t.Context(), strings.Fields(tc.args))
			if clitest.ExitCode(err) != tc.code || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%v", err)
			}
			if tc.code != 0 {
				return
			}
			var x workloads.Explained
			if err := json.Unmarshal(out.Bytes(), &x); err != nil || x.Environment != "new" || x.Namespace != "acme" ||
				x.Repositories[0].SHA != "5ca1ab1e" {
				t.Errorf("%v, %s", err, out)
			}
		})
	}
}
