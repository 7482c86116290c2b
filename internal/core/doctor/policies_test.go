package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

const managerAccount = "system:serviceaccount:postflight-system:postflight-manager"

// installed is what the API server has of config/policy.
type installed struct {
	policies []admissionv1.ValidatingAdmissionPolicy
	bindings []admissionv1.ValidatingAdmissionPolicyBinding
}

func shipped(t *testing.T) *installed {
	t.Helper()
	in := &installed{}
	for _, file := range []string{"jobs_by_proxy.yaml", "manager.yaml"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "policy", file))
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			p, b := admissionv1.ValidatingAdmissionPolicy{}, admissionv1.ValidatingAdmissionPolicyBinding{}
			if err := yaml.Unmarshal([]byte(document), &p); err != nil {
				t.Fatal(err)
			}
			if p.Kind == "ValidatingAdmissionPolicy" {
				in.policies = append(in.policies, p)
				continue
			}
			if err := yaml.UnmarshalStrict([]byte(document), &b); err != nil {
				t.Fatal(err)
			}
			in.bindings = append(in.bindings, b)
		}
	}
	return in
}

func (in *installed) policy(name string) *admissionv1.ValidatingAdmissionPolicy {
	for i := range in.policies {
		if in.policies[i].Name == name {
			return &in.policies[i]
		}
	}
	return nil
}

func (in *installed) binding(name string) *admissionv1.ValidatingAdmissionPolicyBinding {
	for i := range in.bindings {
		if in.bindings[i].Name == name {
			return &in.bindings[i]
		}
	}
	return nil
}

// rename is what the chart does for a release of another name.
func (in *installed) rename(release string) {
	for i := range in.policies {
		in.policies[i].Name = strings.Replace(in.policies[i].Name, "postflight", release, 1)
	}
	for i := range in.bindings {
		in.bindings[i].Spec.PolicyName = strings.Replace(in.bindings[i].Spec.PolicyName, "postflight", release, 1)
	}
}

// TestPoliciesAreThoseShipped: the names are exactly those of config/policy.
func TestPoliciesAreThoseShipped(t *testing.T) {
	in := shipped(t)
	for _, name := range policies {
		if in.policy(name) == nil {
			t.Errorf("config/policy has no %s", name)
		}
	}
	if len(in.policies) != len(policies) {
		t.Errorf("config/policy has %d policies, and %d are checked", len(in.policies), len(policies))
	}
}

func TestPolicies(t *testing.T) {
	const jobs = "postflight-manager-jobs"
	cases := map[string]struct {
		change func(*installed)
		level  Level
		says   string
	}{
		"as shipped":                {func(*installed) {}, OK, "All 8 are in force."},
		"a release of another name": {func(in *installed) { in.rename("acme") }, OK, "All 8"},
		"none":                      {func(in *installed) { *in = installed{} }, Warning, "are against: postflight-jobs-by-proxy, postflight-jobs-of-environments"},
		"one is missing":            {func(in *installed) { in.policy(jobs).Name = "other" }, Warning, "are missing, so nothing refuses what they are against: postflight-manager-jobs."},
		"a binding is missing":      {func(in *installed) { in.binding(jobs).Spec.PolicyName = "other" }, Failure, "postflight-manager-jobs has no binding"},
		"a binding that only warns": {func(in *installed) {
			in.binding(jobs).Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Warn, admissionv1.Audit}
		}, Failure, "No binding of the policy postflight-manager-jobs denies"},
		"a binding for some namespaces": {func(in *installed) { in.binding(jobs).Spec.MatchResources = &admissionv1.MatchResources{} }, Failure, "denies everywhere"},
		"a binding that needs no APIKey": {func(in *installed) {
			in.binding("postflight-jobs-of-teams").Spec.ParamRef.ParameterNotFoundAction = new(admissionv1.AllowAction)
		}, Failure, "No binding of the policy postflight-jobs-of-teams denies"},
		"a binding that needs no Trigger": {func(in *installed) {
			in.binding("postflight-jobs-of-triggers").Spec.ParamRef.ParameterNotFoundAction = new(admissionv1.AllowAction)
		}, Failure, "No binding of the policy postflight-jobs-of-triggers denies"},
		"those of an earlier version": {func(in *installed) { in.policy("postflight-jobs-of-triggers").Name = "other" }, Warning, "are against: postflight-jobs-of-triggers."},
		"a binding beside one that audits": {func(in *installed) {
			more := *in.binding(jobs)
			more.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Audit}
			in.bindings = append([]admissionv1.ValidatingAdmissionPolicyBinding{more}, in.bindings...)
		}, OK, "All 8"},
		"what fails is let pass": {func(in *installed) { in.policy(jobs).Spec.FailurePolicy = new(admissionv1.Ignore) }, Failure, "postflight-manager-jobs lets pass what it cannot evaluate"},
		"another account": {func(in *installed) {
			c := &in.policy(jobs).Spec.MatchConditions[0]
			c.Expression = strings.ReplaceAll(c.Expression, "postflight-system", "elsewhere")
		}, Failure, "postflight-manager-jobs bounds another account than that of this manager, " + managerAccount},
		"another installation beside it": {func(in *installed) {
			more := in.policy(jobs).DeepCopy()
			more.Name, more.Spec.MatchConditions[0].Expression = "acme-manager-jobs", "request.userInfo.username == 'x'"
			in.policies = append([]admissionv1.ValidatingAdmissionPolicy{*more}, in.policies...)
		}, OK, "All 8"},
		"another installation beside one that is not in force": {func(in *installed) {
			more := in.policy(jobs).DeepCopy()
			more.Name, more.Spec.MatchConditions[0].Expression = "acme-manager-jobs", "request.userInfo.username == 'x'"
			in.policies = append([]admissionv1.ValidatingAdmissionPolicy{*more}, in.policies...)
			in.binding(jobs).Spec.PolicyName = more.Name
		}, Failure, "postflight-manager-jobs has no binding"},
		"the API server has warnings": {func(in *installed) {
			in.policy(jobs).Status.TypeChecking = &admissionv1.TypeChecking{ExpressionWarnings: []admissionv1.ExpressionWarning{
				{FieldRef: "spec.validations[1].expression", Warning: "batch/v1, Kind=Job: ERROR: no such key\n | at 1:1"}, {FieldRef: "x", Warning: "y"},
			}}
		}, Warning, "doubts 2 expressions of the policy postflight-manager-jobs, such as spec.validations[1].expression: batch/v1, Kind=Job: ERROR: no such key"},
		"the API server has none": {func(in *installed) { in.policy(jobs).Status.TypeChecking = &admissionv1.TypeChecking{} }, OK, "All 8"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := shipped(t)
			tc.change(in)
			found := Policies(managerAccount, in.policies, in.bindings)
			if len(found) != 1 || found[0].Level != tc.level || !strings.Contains(found[0].Message, tc.says) || strings.Contains(found[0].Message, "\n") {
				t.Errorf("%+v, want one %s that says %q", found, tc.level, tc.says)
			}
		})
	}
}
