package doctor

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

const (
	checkPolicies = "policies"
	applyPolicies = "Apply the policies of the manager's version: upgrade the chart with policy.enabled=true, or `kubectl apply -k " +
		"config/policy`."
)

// policies are the files of config/policy; a test compares them. The chart replaces "postflight".
var policies = []string{
	"postflight-jobs-by-proxy", "postflight-jobs-of-environments", "postflight-jobs-of-teams", "postflight-jobs-of-triggers",
	"postflight-manager-environments", "postflight-manager-jobs", "postflight-manager-pods", "postflight-marks-of-suites",
}

// Policies checks that the shipped policies are in force. account is the user name of the manager.
func Policies(
	account string, found []admissionv1.ValidatingAdmissionPolicy, bindings []admissionv1.ValidatingAdmissionPolicyBinding,
) (findings []Finding) {
	var missing []string
	for _, name := range policies {
		ours := slices.DeleteFunc(slices.Clone(found), func(p admissionv1.ValidatingAdmissionPolicy) bool { return !isPolicy(p.Name, name) })
		if len(ours) == 0 {
			missing = append(missing, name)
			continue
		}
		findings = append(findings, policyFindings(account, ours, bindings)...)
	}
	if len(missing) > 0 { // which may be intended, such as where installing them is not allowed
		findings = append(findings, warning(checkPolicies, applyPolicies,
			"These policies are missing, so nothing refuses what they are against: %s.", list(missing)))
	}
	if len(findings) == 0 {
		return []Finding{ok(checkPolicies, "All %d are in force.", len(policies))}
	}
	return findings
}

func isPolicy(name, ours string) bool {
	return name == ours || strings.HasSuffix(name, strings.TrimPrefix(ours, "postflight"))
}

// policyFindings wants one of the policies of a kind to work: the others may be of other installations.
func policyFindings(
	account string, ours []admissionv1.ValidatingAdmissionPolicy, bindings []admissionv1.ValidatingAdmissionPolicyBinding,
) (findings []Finding) {
	first := ours[0].Name
	ours = slices.DeleteFunc(ours, func(p admissionv1.ValidatingAdmissionPolicy) bool { return !concerns(&p, account) })
	if len(ours) == 0 {
		return []Finding{failure(checkPolicies,
			"If you have renamed the account or its namespace, change config/policy/manager.yaml; the chart does it.",
			"The policy %s bounds another account than that of this manager, %s.", first, account)}
	}
	for i := range ours {
		found := policyProblems(&ours[i], bindings)
		if len(found) == 0 {
			return nil
		}
		if findings == nil {
			findings = found
		}
	}
	return findings
}

func policyProblems(
	p *admissionv1.ValidatingAdmissionPolicy, bindings []admissionv1.ValidatingAdmissionPolicyBinding,
) (findings []Finding) {
	bound := slices.DeleteFunc(slices.Clone(bindings),
		func(b admissionv1.ValidatingAdmissionPolicyBinding) bool { return b.Spec.PolicyName != p.Name })
	if len(bound) == 0 {
		findings = append(findings, failure(checkPolicies, applyPolicies, "The policy %s has no binding, so it is not in force.", p.Name))
	} else if !slices.ContainsFunc(bound, denies) {
		findings = append(findings, failure(checkPolicies, applyPolicies, "No binding of the policy %s denies everywhere what it is against.",
			p.Name))
	}
	if p.Spec.FailurePolicy != nil && *p.Spec.FailurePolicy == admissionv1.Ignore {
		findings = append(findings, failure(checkPolicies, applyPolicies,
			"The policy %s lets pass what it cannot evaluate (failurePolicy: Ignore).", p.Name))
	}
	if checked := p.Status.TypeChecking; checked != nil && len(checked.ExpressionWarnings) > 0 {
		first := checked.ExpressionWarnings[0]
		text, _, _ := strings.Cut(strings.TrimSpace(first.Warning), "\n")
		findings = append(findings,
			warning(checkPolicies,
				"It may refuse what it should not. Apply the policies and the CRDs of the same version. `kubectl describe validatingadmissionpolicy "+
					p.Name+"` has all warnings.",
				"The API server doubts %d expressions of the policy %s, such as %s: %s", len(checked.ExpressionWarnings), p.Name, first.FieldRef, text))
	}
	return findings
}

func concerns(p *admissionv1.ValidatingAdmissionPolicy, account string) bool {
	i := slices.IndexFunc(p.Spec.MatchConditions, func(c admissionv1.MatchCondition) bool {
		return strings.Contains(c.Expression, "request.userInfo.username")
	})
	return i < 0 || strings.Contains(p.Spec.MatchConditions[i].Expression, "'"+account+"'")
}

// denies reports whether the binding refuses requests wherever its policy matches.
func denies(b admissionv1.ValidatingAdmissionPolicyBinding) bool {
	ref := b.Spec.ParamRef
	lenient := ref != nil && ref.ParameterNotFoundAction != nil && *ref.ParameterNotFoundAction != admissionv1.DenyAction
	return slices.Contains(b.Spec.ValidationActions, admissionv1.Deny) && b.Spec.MatchResources == nil && !lenient
}
