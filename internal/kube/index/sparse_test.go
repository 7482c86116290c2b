package index

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

// TestSparse: a lookup by the commit finds its Suite among those that share the bucket, also if another namespace has the same commit.
func TestSparse(t *testing.T) {
	byCommit := func(o client.Object) []string { return []string{o.(*v1alpha1.Suite).Spec.Deployment.SHA} }
	indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{indexName(Commit): keysOf(Commit, byCommit)})
	shared := 0
	for i := range 2 * buckets {
		for _, namespace := range []string{"shop", "search"} {
			s := build.In(namespace, build.Suite(fmt.Sprintf("run-%d", i), i))
			s.Spec.Deployment.SHA = fmt.Sprintf("%040d", i)
			if err := indexer.Add(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 2 * buckets {
		sha := fmt.Sprintf("%040d", i)
		q := suiteQuery{
			namespace: "shop", fields: fields.OneTermEqualSelector(Commit, sha).Requirements(),
			extract: map[string]client.IndexerFunc{Commit: byCommit},
		}
		candidates, err := q.candidates(indexer)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, candidate := range candidates {
			s := candidate.(*v1alpha1.Suite)
			switch selected := q.selects(s); {
			case selected && (s.Namespace != "shop" || s.Spec.Deployment.SHA != sha):
				t.Errorf("%s of %s was found by %s", s.Spec.Deployment.SHA, s.Namespace, sha)
			case selected:
				found++
			default:
				shared++
			}
		}
		if found != 1 {
			t.Errorf("%d Suites were found by %s, want 1", found, sha)
		}
	}
	if shared == 0 {
		t.Error("no Suites share a bucket, so this tested nothing")
	}
}
