package replicas

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestRunsWithoutAKey: with the shipped policies, a team needs no key. Those of an earlier version want one, and say so; once they are
// replaced, the run that waited starts.
func TestRunsWithoutAKey(t *testing.T) {
	tier.All(t, "it needs an API server with policies of its own")
	t.Parallel()
	s := apiserver.Own(t, apiserver.Options{})
	tm := newTeam(t, s)
	replicas(t, s, kubeconfigOf(t, s.Manager(t)), 1)
	tm.policies(earlierPolicies(t))
	tm.awaitState(tm.byHand("with"), v1alpha1.ReasonStarting)

	tm.remove(tm.apiKey("ci", tm.key))
	poll.True(t, "the policies see that the key is gone", func() bool {
		j := job.Build(rawSuite(tm.trigger("smoke"), "any"), tm.trigger("smoke"), tm.environment())
		j.Namespace, j.OwnerReferences = tm.namespace, nil
		err := s.Client.Create(t.Context(), j, k8sclient.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "no params found")
	})
	run := &v1alpha1.Suite{ObjectMeta: tm.meta(tm.byHand("without"))}
	poll.Until(t, "the run waits for a key", func() string {
		tm.get(run)
		if found := fmt.Sprintf("%+v", run.Status); !strings.Contains(found, "the policies are of an earlier version") {
			return found
		}
		return ""
	})
	tm.policies(shippedPolicies(t))
	tm.awaitState(run.Name, v1alpha1.ReasonStarting)
	tm.awaitState(tm.byHand("another"), v1alpha1.ReasonStarting)
}

func (tm *team) policies(content string) {
	tm.t.Helper()
	file := filepath.Join(tm.t.TempDir(), "policies.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		tm.t.Fatal(err)
	}
	if _, err := tm.s.Kubectl(tm.t, "apply", "-f", file); err != nil {
		tm.t.Fatal(err)
	}
}

func shippedPolicies(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "config", "policy", "manager.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// earlierPolicies knew only keys.
func earlierPolicies(t *testing.T) string {
	t.Helper()
	const onlyOthers = "        - {key: postflight.dev/allowed-by, operator: DoesNotExist}\n"
	var kept []string
	for document := range strings.SplitSeq(shippedPolicies(t), "\n---\n") {
		if !strings.Contains(document, "name: postflight-jobs-of-triggers") &&
			!strings.Contains(document, "name: postflight-jobs-of-environments") {
			kept = append(kept, strings.Replace(document, onlyOthers, "", 1))
		}
	}
	earlier := strings.Join(kept, "\n---\n")
	if strings.Contains(earlier, "operator: DoesNotExist") || !strings.Contains(earlier, "kind: APIKey") {
		t.Fatal("these are not the policies of an earlier version")
	}
	return earlier
}
