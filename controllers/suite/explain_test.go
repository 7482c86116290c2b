package suite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/environments"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// TestExplainAgreesWithTheCondition: for whatever is wrong, postflight explain environment says the sentence of the condition.
func TestExplainAgreesWithTheCondition(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Grant("ClusterRole", world.WorkloadsReader)
	d, silent := build.Deployment("web", build.Commit(1)), build.Deployment("silent", build.Commit(1))
	silent.Spec.Template.Spec.Containers[0].Image = "shop:latest"
	w.Create(d, silent)
	w.RollsOut(d)
	for name, workload := range map[string]v1alpha1.Workload{
		"good":      {Name: "web"},
		"missing":   {Name: "api"},
		"silent":    {Name: "silent"},
		"kind":      {Kind: "Rollout", Name: "x"},
		"global":    {APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "x"},
		"foreign":   {APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: "x"},
		"malformed": {Name: "web", SHA: &v1alpha1.WorkloadValue{Expression: "object."}},
		"costly":    {Name: "web", SHA: &v1alpha1.WorkloadValue{Expression: "object.metadata.uid.split('').exists(a, object == {} || object != object) ? 'a' : 'b'"}},
		"elsewhere": {Name: "web", Namespace: "kube-system"},
	} {
		t.Run(name, func(t *testing.T) {
			e := build.Environment(name)
			e.Spec.Workloads = []v1alpha1.Workload{workload}
			w.Create(e)
			if name == "good" {
				w.Ready(e, "True", world.WorkloadsRead, "")
			} else {
				w.Ready(e, "False", world.WorkloadsUnknown, "")
			}
			says := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady).Message
			out := &bytes.Buffer{}
			console := &cli.Console{Out: out, Err: &bytes.Buffer{}, JSON: true}
			o := environments.ExplainOptions{
				Cluster: access.Cluster{Output: cli.Output{Console: console}, Client: w.Client, Namespace: w.NS, Clock: clock.RealClock{}},
				Manager: "postflight-system/postflight-manager",
			}
			err := o.Run(context.Background(), []string{name})
			x := workloads.Explained{}
			if err := json.Unmarshal(out.Bytes(), &x); err != nil {
				t.Fatal(err, out)
			}
			same := func(p workloads.Problem) bool {
				return p.Message == says && (p.Do != "" || strings.Contains(says, "ask your operator"))
			}
			good := err == nil && len(x.Problems) == 0 && len(x.Repositories) == 1 && x.Repositories[0].SHA == build.Commit(1)
			if name == "good" && !good || name != "good" && !slices.ContainsFunc(x.Problems, same) {
				t.Errorf("the condition says %q, and the command %v: %+v", says, err, x)
			}
		})
	}
}
