package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

type runsCancelOptions struct{ cluster }

func newRunsCancel() *cobra.Command {
	o := &runsCancelOptions{}
	cmd := &cobra.Command{
		Use:     "cancel RUN",
		Short:   "Cancel a run and record who did it",
		Example: "  postflight runs cancel smoke-3f9c2k7q5x0a1b2c -n acme",
		Args:    cobra.ExactArgs(1),
		RunE:    o.command(func(ctx context.Context, args []string) error { return o.run(ctx, args[0]) }),
	}
	o.addFlags(cmd)
	return cmd
}

func (o *runsCancelOptions) run(ctx context.Context, name string) error {
	s, err := o.getRun(ctx, name)
	if err != nil {
		return err
	}
	if s.Finished() {
		return fmt.Errorf("the run %s has already ended: %s", name, s.State())
	}
	patch := client.MergeFrom(s.DeepCopy())
	s.Spec.Cancel = true
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationCanceledBy, o.userName(ctx))
	if err := o.client.Patch(ctx, s, patch); err != nil {
		return o.explainError(err, fmt.Sprintf("run %q", name))
	}
	return o.console.result(s, func() error {
		o.console.note("The run %s is being canceled.", name)
		return nil
	})
}
