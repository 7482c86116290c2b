package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
)

// sharedManager is the one of the tests that kill none, and need none with flags of its own. It knows the team and its Triggers,
// for which a test calls it once it has made them.
//
// A manager cares for all teams, so that there must be no other beside it: its tests run in parallel, which Go begins when
// all others have ended. It ends with the cluster.
func (tm *team) sharedManager() *manager {
	tm.t.Helper()
	shared.start.Do(func() { shared.manager = runManager(lasting{tm.t}, tm.cluster, options{}) })
	if shared.manager == nil {
		tm.t.Fatal("the manager that the tests share did not start")
	}
	tm.awaitKnown(shared.manager)
	return shared.manager
}

// lasting is a test whose resources last as long as the cluster.
type lasting struct{ testing.TB }

// Cleanup is called at the end of all tests.
func (lasting) Cleanup(f func()) { shared.cleanup = append(shared.cleanup, f) }

// Context ends with the process.
func (lasting) Context() context.Context { return context.Background() }

// Failed is false, because the end of one test says nothing of what others use.
func (lasting) Failed() bool { return false }

// awaitKnown waits until a manager that was started before knows the team, its key and all of its Triggers.
func (tm *team) awaitKnown(m *manager) {
	tm.t.Helper()
	var triggers v1alpha1.TriggerList
	if err := tm.List(tm.t.Context(), &triggers, client.InNamespace(tm.name)); err != nil {
		tm.t.Fatal(err)
	}
	poll.Until(tm.t, "the manager knows the team "+tm.name, func() string {
		a, err := send(http.MethodPost, m.url+notifyPath+"?dryRun=true", tm.key, []byte("{}"))
		if err != nil || a.status != http.StatusOK {
			return fmt.Sprintf("status %d, %v", a.status, err)
		}
		var known httpapi.NotificationResult
		if err := json.Unmarshal(a.body, &known); err != nil || len(known.Explanations) != len(triggers.Items) {
			return fmt.Sprintf("%s, %v", a.body, err)
		}
		return ""
	})
}

// logged are the lines of a manager's log with some text.
func (m *manager) logged(text string) string {
	content, _ := os.ReadFile(m.log)
	var found strings.Builder
	for line := range strings.Lines(string(content)) {
		if strings.Contains(line, text) {
			found.WriteString(line)
		}
	}
	return found.String()
}
