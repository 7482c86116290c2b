package apikey_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func in(namespace string, change ...func(*v1alpha1.APIKey)) v1alpha1.APIKey {
	k := v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
	for _, c := range change {
		c(&k)
	}
	return k
}

func suspended(k *v1alpha1.APIKey) { k.Spec.Suspended = true }
func names(k *v1alpha1.APIKey)     { k.Spec.NamesNamespace = true }
func deleted(k *v1alpha1.APIKey)   { k.DeletionTimestamp = &metav1.Time{Time: noon} }
func older(k *v1alpha1.APIKey)     { k.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour)) }
func expired(k *v1alpha1.APIKey)   { k.Spec.ExpiresAt = &metav1.Time{Time: noon} }
func expiring(k *v1alpha1.APIKey)  { k.Spec.ExpiresAt = &metav1.Time{Time: noon.Add(1)} }

func TestJudge(t *testing.T) {
	leaving := v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: noon}}}
	claims := apikey.Claims{"acme": {{}}, "rival": {{}}, "claimed": {{}, {}}, "leaving": {leaving}, "orphan": nil}
	cases := map[string]struct {
		reason string
		key    v1alpha1.APIKey
		others []v1alpha1.APIKey
		want   apikey.Verdict
	}{
		"alone":                        {key: in("acme"), want: apikey.Accepted},
		"suspended":                    {key: in("acme", suspended), want: apikey.Suspended},
		"expires later":                {key: in("acme", expiring), want: apikey.Accepted},
		"expires now":                  {key: in("acme", expired), want: apikey.Expired},
		"being deleted":                {key: in("acme", deleted), want: apikey.Deleted},
		"no Team":                      {key: in("orphan"), want: apikey.NoTeam},
		"Team being deleted":           {key: in("leaving"), want: apikey.NoTeam},
		"two Teams":                    {key: in("claimed"), want: apikey.NamespaceClaimedTwice},
		"copy without a Team":          {reason: "it affects no other", key: in("acme"), others: []v1alpha1.APIKey{in("orphan", older)}, want: apikey.Accepted},
		"copy of a Team":               {key: in("acme"), others: []v1alpha1.APIKey{in("rival")}, want: apikey.UsedTwice},
		"younger copy of a Team":       {reason: "the older one may be the forged one", key: in("acme", older), others: []v1alpha1.APIKey{in("rival")}, want: apikey.UsedTwice},
		"copy of a Team, suspended":    {reason: "it is still unclear whose it is", key: in("acme"), others: []v1alpha1.APIKey{in("rival", suspended)}, want: apikey.UsedTwice},
		"copy of a claimed namespace":  {reason: "a Team owns the other namespace", key: in("acme"), others: []v1alpha1.APIKey{in("claimed")}, want: apikey.UsedTwice},
		"copy that names":              {reason: "it is looked up there only", key: in("acme"), others: []v1alpha1.APIKey{in("rival", names)}, want: apikey.Accepted},
		"names, copy of a Team":        {reason: "it is looked up here only", key: in("acme", names), others: []v1alpha1.APIKey{in("rival")}, want: apikey.Accepted},
		"same namespace":               {key: in("acme"), others: []v1alpha1.APIKey{in("acme")}, want: apikey.Accepted},
		"same namespace, suspended":    {reason: "revoking one revokes the key", key: in("acme"), others: []v1alpha1.APIKey{in("acme", suspended)}, want: apikey.Revoked},
		"names, same namespace":        {reason: "revoking one revokes the key", key: in("acme", names), others: []v1alpha1.APIKey{in("acme", deleted)}, want: apikey.Revoked},
		"same namespace and elsewhere": {key: in("acme"), others: []v1alpha1.APIKey{in("acme", expired), in("rival")}, want: apikey.UsedTwice},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := apikey.Judge(&tc.key, append(tc.others, tc.key), claims, noon); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
