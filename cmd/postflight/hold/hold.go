// Package hold has the command that puts an Environment on hold.
package hold

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// longest bounds a hold, because a forgotten hold stops all tests of the Environment.
const longest = 7 * 24 * time.Hour

// maxReason is the bound of the schema, in characters.
const maxReason = 256

type Options struct {
	access.Cluster
	For     time.Duration
	Reason  string
	Release bool
}

func New() *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "hold ENVIRONMENT (--for DURATION | --release)",
		Short: "Keep the runs of an Environment in the queue for a while",
		Long: `Puts an Environment on hold, for example while you debug what is deployed there. Runs that have not started stay queued,
and their messages say until when, why, and who holds the Environment. Runs that have started continue. Newer deployments still
supersede older ones, so that after the hold only the newest is tested.

The hold ends by itself after --for, at most 7d, or with --release. The queue then continues in its order. Another hold
replaces the first, to prolong or to shorten it.

It talks to the cluster of the kubeconfig, where you need the right to change the Environment.`,
		Example: `  postflight hold staging --for 1h --reason "debugging 812"
  postflight hold staging --release

  # What is on hold?
  postflight environments list -n shop`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
		RunE:    o.ChangingCommand(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) }),
	}
	cli.DurationVar(cmd.Flags(), &o.For, "for", 0, "how long, e.g. 90m or 3d")
	cmd.Flags().StringVar(&o.Reason, "reason", "", "why; every run that waits shows it")
	cmd.Flags().BoolVar(&o.Release, "release", false, "end the hold now")
	cmd.ValidArgsFunction = access.First(o.Complete(access.Environments))
	o.AddFlags(cmd)
	return cmd
}

func (o *Options) check() error {
	switch {
	case o.Release && (o.For != 0 || o.Reason != ""):
		return cli.Exitf(cli.ExitTrouble, "--release ends a hold now: leave out --for and --reason")
	case o.Release:
		return nil
	case o.For == 0:
		return cli.Exitf(cli.ExitTrouble, "say how long: --for 1h. To end a hold: --release")
	case o.For < time.Second || o.For > longest:
		return cli.Exitf(cli.ExitTrouble, "--for %s: a hold lasts from 1s to 7d", plaintext.Duration(o.For))
	case len([]rune(o.Reason)) > maxReason:
		return cli.Exitf(cli.ExitTrouble, "--reason has %d characters, and at most %d are accepted", len([]rune(o.Reason)), maxReason)
	default:
		return nil
	}
}

func (o *Options) Run(ctx context.Context, name string) error {
	e := &v1alpha1.Environment{}
	if err := o.Get(ctx, "Environment", name, e); err != nil {
		return err
	}
	before := e.DeepCopy()
	if o.Release {
		e.Spec.Hold = nil
		delete(e.Annotations, v1alpha1.AnnotationHeldBy)
	} else {
		until := metav1.NewTime(o.Clock.Now().Add(o.For).UTC().Truncate(time.Second))
		e.Spec.Hold = &v1alpha1.EnvironmentHold{Until: until, Reason: o.Reason}
		metav1.SetMetaDataAnnotation(&e.ObjectMeta, v1alpha1.AnnotationHeldBy, o.UserName(ctx))
	}
	if err := o.Client.Patch(ctx, e, client.MergeFrom(before)); err != nil {
		return o.ExplainError(err, fmt.Sprintf("Environment %q", name))
	}
	return o.Console.Result(result(e), func() error {
		o.note(before, e)
		return nil
	})
}

func result(e *v1alpha1.Environment) map[string]any {
	r := map[string]any{"name": e.Name, "namespace": e.Namespace, "held": e.Spec.Hold != nil}
	if e.Spec.Hold != nil {
		r["until"], r["reason"], r["heldBy"] = e.Spec.Hold.Until, e.Spec.Hold.Reason, e.Annotations[v1alpha1.AnnotationHeldBy]
	}
	return r
}

// note also names an earlier hold, which another user may have made.
func (o *Options) note(before, after *v1alpha1.Environment) {
	now := o.Clock.Now()
	until := before.HeldUntil(now)
	switch {
	case !o.Release:
		o.Console.Note("%s %s is on hold until %s. Release it earlier: postflight hold %s --release -n %s",
			after.Name, o.Place(), queue.HoldEnd(after.Spec.Hold.Until.Time, now), after.Name, after.Namespace)
	case until.IsZero():
		o.Console.Note("%s %s was not on hold.", after.Name, o.Place())
		return
	default:
		o.Console.Note("%s %s is released, and its queue continues.", after.Name, o.Place())
	}
	if until.IsZero() {
		return
	}
	if why := queue.HoldWhy(before); why != "" {
		o.Console.Note("It was on hold until %s (%s).", queue.HoldEnd(until, now), why)
	}
}
