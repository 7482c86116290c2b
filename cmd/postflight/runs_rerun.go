package main

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

// maxAttempts bounds the search for an attempt that does not exist yet.
const maxAttempts = 100

type runsRerunOptions struct{ cluster }

func newRunsRerun() *cobra.Command {
	o := &runsRerunOptions{}
	cmd := &cobra.Command{
		Use:     "rerun RUN",
		Short:   "Start another attempt of a run, and print its id",
		Example: `  postflight wait "$(postflight runs rerun smoke-3f9c2k7q5x0a1b2c -n acme)"`,
		Args:    cobra.ExactArgs(1),
		RunE:    o.command(func(ctx context.Context, args []string) error { return o.run(ctx, args[0]) }),
	}
	o.addFlags(cmd)
	return cmd
}

func (o *runsRerunOptions) run(ctx context.Context, name string) error {
	s, err := o.getRun(ctx, name)
	if err == nil {
		err = o.checkLatest(ctx, s)
	}
	if err != nil {
		return err
	}
	trigger := &v1alpha1.Trigger{}
	if err := o.client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Trigger.Name}, trigger); err != nil {
		return o.explainError(err, fmt.Sprintf("Trigger %q", s.Spec.Trigger.Name))
	}
	request := "rerun." + rand.Text()
	for attempt := max(s.Spec.Attempt, 1) + 1; attempt < s.Spec.Attempt+maxAttempts; attempt++ {
		rerun := suite.Rerun(s, trigger.UID, attempt, request)
		err := o.client.Create(ctx, rerun)
		if apierrors.IsAlreadyExists(err) {
			continue // another user's attempt
		}
		if err != nil {
			return o.explainError(err, "a run")
		}
		return o.console.result(rerun, func() error {
			o.console.note("Attempt %d started. Follow it: postflight runs logs -f %s -n %s", rerun.Spec.Attempt, rerun.Name, rerun.Namespace)
			fmt.Fprintln(o.console.out, rerun.Name)
			return nil
		})
	}
	return fmt.Errorf("the run %s already has %d attempts", name, maxAttempts)
}

// checkLatest refuses to rerun a run after a newer deployment: the new attempt would supersede that one, whose
// pipeline would get the result of the older commit.
func (o *runsRerunOptions) checkLatest(ctx context.Context, s *v1alpha1.Suite) error {
	stream := suite.StreamKey(s)
	if stream == "" {
		return nil
	}
	var list v1alpha1.SuiteList
	if err := o.client.List(ctx, &list, client.InNamespace(s.Namespace)); err != nil {
		return o.explainError(err, "runs")
	}
	for i := range list.Items {
		other := &list.Items[i]
		newer := suite.StreamKey(other) == stream && suite.Compare(other, s) > 0
		sameCommit := s.Spec.Deployment.SHA != "" && other.Spec.Deployment.SHA == s.Spec.Deployment.SHA
		if newer && !sameCommit {
			return fmt.Errorf("the run %s of a newer deployment came after %s, and another attempt would supersede it. "+
				"Rerun %s, or deploy this commit again and notify", other.Name, s.Name, other.Name)
		}
	}
	return nil
}
