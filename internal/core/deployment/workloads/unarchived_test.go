package workloads

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func pendingOf(repository, sha string, minute int) v1alpha1.EarlierDeployment {
	return v1alpha1.EarlierDeployment{Repository: repository, SHA: sha, Since: *at(minute)}
}

// TestUnarchived: what is over stays in the status until the archive is known to have it.
func TestUnarchived(t *testing.T) {
	has := func(repository, sha string, minute int) v1alpha1.Deployed {
		return v1alpha1.Deployed{Repository: repository, SHA: sha, Since: at(minute)}
	}
	type all = []v1alpha1.Deployed
	type pending = []v1alpha1.EarlierDeployment
	for name, tc := range map[string]struct {
		reason   string
		pending  pending
		was, is  all
		archived string // commits
		want     pending
	}{
		"first":          {"nothing was before", nil, nil, all{has("shop", "a", 1)}, "", nil},
		"the same":       {"nothing is over", nil, all{has("shop", "a", 1)}, all{has("shop", "a", 1)}, "", nil},
		"archived":       {"the usual case costs no field", nil, all{has("shop", "a", 1)}, all{has("shop", "b", 2)}, "a", nil},
		"not archived":   {"the store is unavailable", nil, all{has("shop", "a", 1)}, all{has("shop", "b", 2)}, "", pending{pendingOf("shop", "a", 1)}},
		"again":          {"it was deployed twice", nil, all{has("shop", "a", 1)}, all{has("shop", "a", 2)}, "", pending{pendingOf("shop", "a", 1)}},
		"the next":       {"the oldest comes first", pending{pendingOf("shop", "a", 1)}, all{has("shop", "b", 2)}, all{has("shop", "c", 3)}, "", pending{pendingOf("shop", "a", 1), pendingOf("shop", "b", 2)}},
		"caught up":      {"the store has all", pending{pendingOf("shop", "a", 1), pendingOf("shop", "b", 2)}, all{has("shop", "c", 3)}, all{has("shop", "c", 3)}, "a b c", nil},
		"caught up half": {"the store has some", pending{pendingOf("shop", "a", 1), pendingOf("shop", "b", 2)}, all{has("shop", "c", 3)}, all{has("shop", "c", 3)}, "a", pending{pendingOf("shop", "b", 2)}},
		"dropped":        {"the status has no room for it", nil, all{has("pay", "p", 1), has("shop", "a", 1)}, all{has("shop", "a", 1)}, "", pending{pendingOf("pay", "p", 1)}},
		"never begun":    {"there was no commit", nil, all{{Repository: "shop", Workloads: []v1alpha1.DeployedWorkload{{Name: "web"}}}}, all{has("shop", "a", 1)}, "", nil},
		"several":        {"it was deployed all the same", nil, all{has("shop", "", 1)}, all{has("shop", "a", 2)}, "", pending{pendingOf("shop", "", 1)}},
		"progress":       {"it continues", nil, all{has("shop", "a", 1)}, all{{Repository: "shop", SHA: "a", Since: at(1), Ready: new(false), Message: "b comes"}}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			was, is := anEnvironment.DeepCopy(), anEnvironment.DeepCopy()
			was.Status.Unarchived, was.Status.Deployed, is.Status.Deployed = tc.pending, tc.was, tc.is
			archived := func(e v1alpha1.EarlierDeployment) bool {
				return e.SHA != "" && strings.Contains(tc.archived, e.SHA)
			}
			if diff := cmp.Diff(tc.want, Unarchived(was, is, archived)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUnarchivedIsBounded: of too many, the status says when they began to be unknown, and keeps those of other repositories.
func TestUnarchivedIsBounded(t *testing.T) {
	never := func(v1alpha1.EarlierDeployment) bool { return false }
	e := anEnvironment.DeepCopy()
	e.Status.Unarchived = []v1alpha1.EarlierDeployment{pendingOf("pay", "p", 0)}
	e.Status.Deployed = []v1alpha1.Deployed{{Repository: "shop", SHA: "0", Since: at(0)}}
	for i := 1; i <= 100; i++ {
		is := e.DeepCopy()
		is.Status.Deployed[0].SHA, is.Status.Deployed[0].Since = fmt.Sprint(i), at(i)
		is.Status.Unarchived = Unarchived(e, is, never)
		e = is
	}
	all := e.Status.Unarchived
	want := v1alpha1.EarlierDeployment{Repository: "shop", Since: *at(48), Unknown: true}
	if len(all) != maxUnarchived || all[0].SHA != "p" || all[1].SHA != "0" || all[48].SHA != "47" || !cmp.Equal(all[49], want) {
		t.Errorf("%d: %+v", len(all), all[47:])
	}
	one := anEnvironment.DeepCopy()
	for i := range 60 {
		one.Status.Unarchived = append(one.Status.Unarchived, pendingOf(fmt.Sprint(i), "a", i))
	}
	if all := Unarchived(one, one, never); len(all) != maxUnarchived || all[0].Repository != "10" {
		t.Errorf("of many repositories, the newest stay: %d, %+v", len(all), all[0])
	}
}

// TestClockIsSetBack: each deployment is later than the one before, so that the archive has them in their order, and rollouts have keys of
// their own.
func TestClockIsSetBack(t *testing.T) {
	e := anEnvironment.DeepCopy()
	var keys []string
	for i, minute := range []int{10, 3, 3, 4, 30} {
		web := found(shop, aDeployment("web", fmt.Sprint("commit-", i%2)))
		e.Status.Deployed, _ = Status(Observed{Environment: e, Found: []Found{web}, Now: minutes(minute)})
		keys = append(keys, RolloutKey(e.Status.Deployed[0]))
	}
	if !slices.IsSorted(keys) || len(slices.Compact(keys)) != 5 {
		t.Errorf("%q", keys)
	}
}
