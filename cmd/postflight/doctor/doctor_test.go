package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/doctor"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/clitest"
	"github.com/postflight-dev/postflight/test/tier"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }

var program = clitest.Program{New}

// TestDoctor breaks one thing after the other, and doctor says which.
func TestDoctor(t *testing.T) {
	tier.All(t, "it installs all of Postflight on a server of its own")
	p := newPatient(t)
	found, code := p.finds("nothing but ✓", func(found []doctor.Finding) bool { return doctor.Worst(found) == doctor.OK })
	if code != cli.ExitPassed {
		t.Errorf("exit code %d, want %d: %+v", code, cli.ExitPassed, found)
	}
	for _, tc := range []struct {
		name, check, says string
		level             doctor.Level
		harm              func()
	}{
		{"a key expires", "keys", "expires in", doctor.Warning, func() {
			p.changed(&v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "ci"}}, func(o client.Object) {
				o.(*v1alpha1.APIKey).Spec.ExpiresAt = new(metav1.NewTime(time.Now().Add(time.Hour)))
			})
		}},
		{"the store is unavailable", "store", "the store https://s3.example.com cannot be used", doctor.Failure,
			func() { p.storeDown.Store(true) }},
		{"a role lost a rule", "rights", "may not create jobs.batch in the cluster", doctor.Failure, func() {
			p.changed(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "postflight-manager"}}, func(o client.Object) {
				role := o.(*rbacv1.ClusterRole)
				role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return r.APIGroups[0] == "batch" })
			})
		}},
		{"nothing leads", "leader", "Nothing leads", doctor.Failure, func() { p.lead(time.Now().Add(-time.Hour)) }},
		{"a policy is missing", "policies", "missing, so nothing refuses what they are against: postflight-manager-environments.",
			doctor.Warning, func() {
				p.must(p.Delete(t.Context(),
					&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "postflight-manager-environments"}}))
			}},
		{"an expression has a warning", "policies", "doubts 1 expressions of the policy postflight-jobs-by-proxy, such as spec.x: no such key",
			doctor.Warning, func() {
				policy := &admissionv1.ValidatingAdmissionPolicy{}
				p.must(p.Get(t.Context(), client.ObjectKey{Name: "postflight-jobs-by-proxy"}, policy))
				policy.Status.TypeChecking = &admissionv1.TypeChecking{ExpressionWarnings: []admissionv1.ExpressionWarning{{FieldRef: "spec.x",
					Warning: "no such key"}}}
				p.must(p.Status().Update(t.Context(), policy))
			}},
		{"a policy only writes to the audit log", "policies", "No binding of the policy postflight-manager-jobs denies", doctor.Failure, func() {
			p.changed(&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "postflight-manager-jobs"}},
				func(o client.Object) {
					o.(*admissionv1.ValidatingAdmissionPolicyBinding).Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Audit}
				})
		}},
		{"a policy has no binding", "policies", "The policy postflight-manager-pods has no binding", doctor.Failure, func() {
			p.must(p.Delete(t.Context(),
				&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "postflight-manager-pods"}}))
		}},
		{"a CRD is older", "CRDs", "it lacks spec.supersede", doctor.Failure, func() {
			p.changed(&apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "triggers.postflight.dev"}},
				func(o client.Object) {
					delete(o.(*apiextensions.CustomResourceDefinition).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "supersede")
				})
		}},
		{"the team lost its key", "teams", "has no key that works", doctor.Warning, func() {
			p.must(p.Delete(t.Context(), &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "ci"}}))
		}},
		{"a replica is not ready", "manager", "0 of 2 replicas are ready", doctor.Failure, func() {
			d := p.deployment()
			d.Status.ReadyReplicas, d.Status.AvailableReplicas = 0, 0
			p.must(p.Status().Update(t.Context(), d))
		}},
		{"there is no manager", "manager", "There is no Deployment of the manager", doctor.Failure,
			func() { p.must(p.Delete(t.Context(), p.deployment())) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p.T = t
			p.lead(time.Now())
			tc.harm()
			found, code := p.finds(fmt.Sprintf("a %s of %s that says %q", tc.level, tc.check, tc.says), func(found []doctor.Finding) bool {
				return slices.ContainsFunc(found, func(f doctor.Finding) bool {
					return f.Check == tc.check && f.Level == tc.level && strings.Contains(f.Message, tc.says)
				})
			})
			if code != map[doctor.Level]int{doctor.Warning: cli.ExitPassed, doctor.Failure: cli.ExitFailed}[doctor.Worst(found)] {
				t.Errorf("exit code %d: %+v", code, found)
			}
		})
	}
}

// TestDoctorOfOneWithFewRights: what may not be read is said, and is no reason to say that it is missing.
func TestDoctorOfOneWithFewRights(t *testing.T) {
	tier.All(t, "it installs all of Postflight on a server of its own")
	p := newPatient(t)
	name := metav1.ObjectMeta{Name: p.namespace}
	p.must(p.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps", ""}, Resources: []string{"deployments", "pods"}, Verbs: []string{"list"}},
	}}))
	p.must(p.Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: name,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole",
			Name: name.Name}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "few"}},
	}))
	config := rest.CopyConfig(p.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "few", Groups: []string{"system:authenticated"}}
	p.kubeconfig = apiserver.Kubeconfig(t, config)
	says := func(found []doctor.Finding, check, says string) bool {
		return slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Check == check && strings.Contains(f.Message, says) })
	}
	found, code := p.finds("the replicas", func(found []doctor.Finding) bool { return says(found, "manager", "2 of 2 replicas are ready") })
	if code != cli.ExitPassed || doctor.Worst(found) != doctor.Warning {
		t.Errorf("exit code %d, want %d and warnings: %+v", code, cli.ExitPassed, found)
	}
	if !says(found, "policies", "Could not be checked: validatingadmissionpolicies") {
		t.Errorf("nothing is said of the policies: %+v", found)
	}
}

func TestDoctorPrints(t *testing.T) {
	c, out, _ := clitest.Console()
	o := &Options{Cluster: clitest.Cluster(c)}
	found := []doctor.Finding{doctor.NoManager("x", ""), {Check: "keys", Level: doctor.OK, Message: "None \x1b[31mexpires."}}
	if err := o.print(found); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"✗   manager   There is no Deployment", "→ Install Postflight", "✓   keys"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("a terminal code of an object is printed")
	}
}

// TestDoctorOfAProcess: a manager without a Deployment is no failure if it renews its Lease, and what the cluster shows is checked all the same.
func TestDoctorOfAProcess(t *testing.T) {
	lease := func(holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "postflight"}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(1800)), RenewTime: new(metav1.NewMicroTime(clitest.Noon)),
		}}
	}
	policy := &v1alpha1.TrustPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "ci"}}
	policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "It trusts nobody."}}
	for name, tc := range map[string]struct {
		objects []client.Object
		renewed bool
		level   doctor.Level
		says    string
	}{
		"a process leads":            {[]client.Object{lease("dev")}, true, doctor.OK, "dev runs the manager: it has just renewed the Lease."},
		"a Lease outlasts its pod":   {[]client.Object{lease("dev")}, false, doctor.Failure, "There is no Deployment of the manager in the namespace " + system},
		"the leader has resigned":    {[]client.Object{lease("")}, true, doctor.Failure, "There is no Deployment"},
		"nothing was ever installed": {nil, false, doctor.Failure, "There is no Deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := clitest.Console()
				o := &Options{Cluster: clitest.Cluster(c, append(tc.objects, policy.DeepCopy())...)}
				o.Namespace = system
				o.Client = interceptor.NewClient(o.Client.(client.WithWatch), interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
						err := c.Get(ctx, key, o, opts...)
						if l, isLease := o.(*coordinationv1.Lease); isLease && err == nil && tc.renewed {
							l.Spec.RenewTime = new(metav1.NowMicro())
						}
						return err
					},
				})
				found := o.examine(t.Context())
				if f := found[0]; f.Check != "manager" || f.Level != tc.level || !strings.Contains(f.Message, tc.says) {
					t.Errorf("%+v, want %s and %q", f, tc.level, tc.says)
				}
				if !slices.ContainsFunc(found, func(f doctor.Finding) bool { return strings.Contains(f.Message, "TrustPolicy acme/ci does not work") }) {
					t.Errorf("nothing is said of the TrustPolicy: %+v", found)
				}
			})
		})
	}
}

func TestDoctorWithoutACluster(t *testing.T) {
	program.Expect(t, cli.ExitTrouble, nil, nil, "doctor", "--kubeconfig", filepath.Join(t.TempDir(), "none"))
}

// TestDoctorOfPods: a pod in the namespace of a team tries addresses, and is gone afterwards.
func TestDoctorOfPods(t *testing.T) {
	tier.All(t, "it installs all of Postflight on a server of its own")
	p := newPatient(t)
	t.Cleanup(p.feignKubelet())
	p.changed(p.deployment(), func(o client.Object) {
		c := &o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0]
		c.Args = append(c.Args, "--store-endpoint=http://store.nowhere.svc")
	})
	found, code := p.doctor("--pod-in", p.namespace)
	var says []string
	for _, f := range found {
		if f.Check == "reach" {
			says = append(says, f.Message)
		}
	}
	want := []string{
		"A pod in " + p.namespace + " reaches http://postflight.postflight-system.svc (HTTP 200).",
		"A pod in " + p.namespace + " cannot resolve store.nowhere.svc: no such host.",
	}
	if code != cli.ExitFailed || !slices.Equal(says, want) {
		t.Errorf("exit code %d, %q, want %q", code, says, want)
	}
	jobs := &batchv1.JobList{}
	p.must(p.List(t.Context(), jobs, client.InNamespace(p.namespace)))
	if len(jobs.Items) > 0 && jobs.Items[0].DeletionTimestamp == nil {
		t.Errorf("the Job stays: %s", jobs.Items[0].Name)
	}
}
