package serviceaccount_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
)

func team(name string, change ...func(*v1alpha1.Team)) v1alpha1.Team {
	t := v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, c := range change {
		c(&t)
	}
	return t
}

func suspended(t *v1alpha1.Team) { t.Spec.Suspended = true }
func leaving(t *v1alpha1.Team)   { t.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
func inShop(t *v1alpha1.Team)    { t.Spec.Namespace = "shop" }

func TestTargetOf(t *testing.T) {
	acme, moved := team("acme"), team("acme", inShop)
	account := serviceaccount.Account{Namespace: "hooks", Name: "ci"}
	for name, tc := range map[string]struct {
		reason string
		asked  string
		named  *v1alpha1.Team
		want   string // namespace
	}{
		"no header":              {"the account's namespace counts", "", nil, "hooks"},
		"a team":                 {"the right is needed in its namespace", "acme", &acme, "acme"},
		"a team elsewhere":       {"its spec names the namespace", "acme", &moved, "shop"},
		"a team that is unknown": {"the API server is asked the same as of a team that exists", "acme", nil, "acme"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := serviceaccount.TargetOf(tc.asked, tc.named, account); got.Namespace != tc.want || got.Asked != tc.asked {
				t.Errorf("%s: %+v", tc.reason, got)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		asked     string
		claimants []v1alpha1.Team
		allowed   bool
		want      serviceaccount.Verdict
		early     bool // it is known before the rights are
	}{
		"own team":                     {"it has the right", "", []v1alpha1.Team{team("acme")}, true, serviceaccount.Accepted, false},
		"own team, no right":           {"a RoleBinding is missing", "", []v1alpha1.Team{team("acme")}, false, serviceaccount.NotAllowed, false},
		"own team is suspended":        {"nothing of it works", "", []v1alpha1.Team{team("acme", suspended)}, true, serviceaccount.TeamSuspended, false},
		"suspended, no right":          {"someone without right learns nothing", "", []v1alpha1.Team{team("acme", suspended)}, false, serviceaccount.NotAllowed, false},
		"no team":                      {"the header is missing", "", nil, true, serviceaccount.NoTeam, true},
		"own team is deleted":          {"its keys and runs end with it", "", []v1alpha1.Team{team("acme", leaving)}, true, serviceaccount.NoTeam, true},
		"two teams":                    {"it is unclear whose runs these are", "", []v1alpha1.Team{team("acme"), team("rival")}, true, serviceaccount.ClaimedTwice, true},
		"named":                        {"it has the right there", "acme", []v1alpha1.Team{team("acme")}, true, serviceaccount.Accepted, false},
		"named, no right":              {"it may exist or not", "rival", []v1alpha1.Team{team("rival")}, false, serviceaccount.NotAllowed, false},
		"named, unknown":               {"the answer is that to a team without right", "rival", nil, false, serviceaccount.NotAllowed, false},
		"named, two teams, no right":   {"the answer is that to an unknown one", "rival", []v1alpha1.Team{team("rival"), team("acme")}, false, serviceaccount.NotAllowed, false},
		"named, suspended, no right":   {"the answer is that to an unknown one", "rival", []v1alpha1.Team{team("rival", suspended)}, false, serviceaccount.NotAllowed, false},
		"named, unknown, with a right": {"who has a right in the namespace may know that it has no team", "shop", nil, true, serviceaccount.NoSuchTeam, false},
		"named after the namespace":    {"only the name of the Team counts", "shop", []v1alpha1.Team{team("acme", inShop)}, true, serviceaccount.NoSuchTeam, false},
		"named, two teams":             {"it is unclear whose runs these are", "acme", []v1alpha1.Team{team("rival"), team("acme")}, true, serviceaccount.ClaimedTwice, false},
		"named, suspended":             {"nothing of it works", "acme", []v1alpha1.Team{team("acme", suspended)}, true, serviceaccount.TeamSuspended, false},
	} {
		t.Run(name, func(t *testing.T) {
			target := serviceaccount.Target{Asked: tc.asked, Namespace: "acme", Claimants: tc.claimants}
			owner, verdict := target.Judge(tc.allowed)
			if verdict != tc.want || (owner != nil) != (verdict == serviceaccount.Accepted) {
				t.Errorf("%s: %v %s, want %s", tc.reason, owner, verdict, tc.want)
			}
			if early := target.Early(); (early != "") != tc.early || tc.early && early != tc.want {
				t.Errorf("%s: %q before the rights are known", tc.reason, early)
			}
		})
	}
}
