package index_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/test/fakeclient"
)

// indexer gives a fake client the indexes of the cache, and fails if one is added twice, as the cache does.
func TestOwner(t *testing.T) {
	acme := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}}
	rival := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "rival"}, Spec: v1alpha1.TeamSpec{Namespace: "acme"}}
	elsewhere := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}, Spec: v1alpha1.TeamSpec{Namespace: "other"}}
	leaving := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme", Finalizers: []string{"a/b"}, DeletionTimestamp: &metav1.Time{Time: time.Now()}}}
	cases := map[string]struct {
		reason string
		teams  []client.Object
		want   string
	}{
		"no team":                   {"no Team claims the namespace", nil, ""},
		"one team":                  {"it is the only one", []client.Object{acme}, "acme"},
		"a team of another's name":  {"only spec.namespace counts", []client.Object{rival}, "rival"},
		"another namespace":         {"the team has named another namespace", []client.Object{elsewhere}, ""},
		"two teams":                 {"it is unclear whose limits and files count", []client.Object{acme, rival}, ""},
		"a team that is deleted":    {"its keys and runs end with it", []client.Object{leaving}, ""},
		"two teams, one is deleted": {"it claims the namespace until it is gone", []client.Object{leaving, rival}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := index.Owner(t.Context(), fakeclient.New(t, tc.teams...), "acme")
			if err != nil || (got == nil) != (tc.want == "") || got != nil && got.Name != tc.want {
				t.Errorf("%s: got %v, %v, want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}
