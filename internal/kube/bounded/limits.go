// Package bounded bounds the memory that the objects of one namespace take in a manager's cache. An object beyond a bound is not cached, so
// it seems not to exist. Only its status, and the answer to a notification, show that it exists.
package bounded

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const (
	// objectBytes bounds the memory of one object: a hundred times that of a Trigger with two containers and twenty variables.
	objectBytes = 512 << 10

	// triggerBytes bounds the memory of a namespace's Triggers: 1,000 with a job template of two containers, which take 8 KiB each.
	triggerBytes = 8 << 20

	// environmentBytes bounds the memory of a namespace's Environments, of which a team with many pull requests has hundreds.
	environmentBytes = 4 << 20

	// reviewBytes bounds the memory of a namespace's DeploymentReviews: 200 that wait and 500 that ended, with up to 11 KiB of texts each.
	reviewBytes = 8 << 20

	// otherBytes bounds the memory of a namespace's APIKeys, and of each other kind.
	otherBytes = 1 << 20

	// variableBytes bounds the memory of the variables of a namespace's runs that have not ended: 8 KiB each for a thousand.
	variableBytes = 8 << 20

	// foreignBytes bounds the labels of a Suite that are not of Postflight, and its annotations; if they are longer, none is cached.
	foreignBytes = 4 << 10

	// valueBytes bounds a label or annotation of a Suite: four times the longest that a manager writes, an Idempotency-Key.
	valueBytes = 1 << 10

	// jobBytes bounds the memory of what a namespace's Jobs remember of their start: 1 KiB each, of four workloads, for 8,000.
	jobBytes = 8 << 20

	// trackedObjects bounds how many objects of a kind and namespace are known, cached or not: no status is written for more.
	trackedObjects = 10_000

	// reviewEvery bounds how often the objects of a kind are looked at again because others have left room, reviewedAtOnce how many are
	// read one by one for a namespace before it is another one's turn, and searchedAtOnce how many are read in pages to find more.
	reviewEvery    = time.Second
	reviewedAtOnce = 50
	searchedAtOnce = 200

	// readWithin bounds each of these reads.
	readWithin = 30 * time.Second

	// objectPageSize is how many objects are read at once. Memory is not text: a Trigger of 1.4 MB with 85,000 empty containers takes 40 MiB,
	// and a page of such ones 400 MiB, unless the schema bounds the length of its lists.
	objectPageSize = 10

	// suitePageSize is the same of Suites, whose schema bounds what is large: 200 with 64 KiB of variables take some 15 MiB.
	suitePageSize = 200

	// jobPageSize is the same of Jobs, which have large templates: an ordinary one has 10 KiB.
	jobPageSize = 50

	// reportsPerSecond bounds the writes that say why an object is not cached.
	reportsPerSecond = 10
)

// namespaceBytes is the bound for one kind and namespace. Namespaces without a Team share one.
func namespaceBytes(kind client.Object) (bytes int64, bounded bool) {
	switch kind.(type) {
	case *v1alpha1.Trigger:
		return triggerBytes, true
	case *v1alpha1.Environment:
		return environmentBytes, true
	case *v1alpha1.DeploymentReview:
		return reviewBytes, true
	case *v1alpha1.APIKey, *v1alpha1.TrustPolicy, *v1alpha1.EventSource, *v1alpha1.Quarantine, *v1alpha1.DeploymentGate:
		return otherBytes, true
	default:
		return 0, false
	}
}
