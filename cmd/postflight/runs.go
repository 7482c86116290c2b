package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func newRuns() *cobra.Command {
	return group(&cobra.Command{
		Use:     "runs",
		Aliases: []string{"run"},
		Short:   "List, show, follow, cancel and rerun runs, through the kubeconfig",
	}, newRunsList(), newRunsShow(), newRunsLogs(), newRunsCancel(), newRunsRerun())
}

func (c *cluster) getRun(ctx context.Context, name string) (*v1alpha1.Suite, error) {
	s := &v1alpha1.Suite{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, s)
	return s, c.explainError(err, fmt.Sprintf("run %q", name))
}

// stateNew is the state of a run that the manager has not seen.
const stateNew = "New"

func stateOf(s *v1alpha1.Suite) string { return cmp.Or(s.State(), stateNew) }

func messageOf(s *v1alpha1.Suite) string {
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		return c.Message
	}
	return "The manager has not seen this run. Check that the manager is up."
}

func (c *cluster) took(s *v1alpha1.Suite) string {
	switch {
	case s.Status.StartTime == nil:
		return "-"
	case s.Status.CompletionTime == nil:
		return age(s.Status.StartTime.Time, c.clock.Now()) + "..."
	default:
		return age(s.Status.StartTime.Time, s.Status.CompletionTime.Time)
	}
}
