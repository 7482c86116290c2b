// Package debug has the command that lets people look around where the tests of a run ran.
package debug

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
)

// The pod costs its resources until it ends: a shorter time is no time to look, and who needs longer than a day starts another.
const (
	shortest = time.Minute
	longest  = 24 * time.Hour
)

type Options struct {
	access.Cluster
	job.Debugging
	Print bool
	End   bool
}

func New() *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "debug RUN",
		Short: "Look around where the tests of a run ran",
		Long: `Starts a pod like the one of the run that failed: the same image, variables, Secrets, volumes, service account, labels and
resources, and its input files. Instead of testing, its container waits, so that you can open a shell in it and repeat a test by hand.
The command prints how. Kubernetes stops the pod after --for, at most 24h; --end stops it now.

The pod of the run itself cannot be entered: once its tests have ended, Kubernetes starts nothing in it any more. What the tests wrote
there is among the artifacts, if the Trigger has results: postflight runs artifacts list RUN. While a run continues, its own pod is named.

The pod belongs to no run and takes no slot, but it costs what the tests cost, also of a ResourceQuota. To keep other runs away from
what you look at, hold the Environment: postflight hold.

It talks to the cluster of the kubeconfig, where you need the right to create pods. The Job of the run has to exist: see
retention.ttlAfterFinished and keepFailedPods of the Trigger.`,
		Example: `  postflight debug smoke-3f9c2k7q5x0a1b2c -n shop
  postflight debug smoke-3f9c2k7q5x0a1b2c -n shop --end

  # The image of the tests has no shell: look at its variables and volumes with another one
  postflight debug smoke-3f9c2k7q5x0a1b2c -n shop --image busybox

  # Read the pod first, or change it
  postflight debug smoke-3f9c2k7q5x0a1b2c -n shop --print | kubectl create -f -`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
		RunE:    o.ChangingCommand(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) }),
	}
	f := cmd.Flags()
	cli.DurationVar(f, &o.For, "for", 30*time.Minute, "how long, from 1m to 24h")
	f.StringVarP(&o.Container, "container", "c", "", "container that waits; default: the one that failed")
	f.StringVar(&o.Image, "image", "", "image of that container; default: its own, which needs the command sleep")
	f.BoolVar(&o.WithoutInputs, "without-inputs", false, "do not download the input files again: the links of an old run have expired")
	f.BoolVar(&o.Print, "print", false, "print the pod as YAML, and create nothing")
	f.BoolVar(&o.End, "end", false, "delete the pod")
	cmd.ValidArgsFunction = access.First(o.Complete(access.Runs))
	o.AddFlags(cmd)
	return cmd
}

func (o *Options) check() error {
	switch {
	case o.End && o.Print:
		return cli.Exitf(cli.ExitTrouble, "--end deletes a pod, and --print creates none: choose one of them")
	case o.For < shortest || o.For > longest:
		return cli.Exitf(cli.ExitTrouble, "--for %s: a pod waits from 1m to 24h", o.For)
	default:
		return nil
	}
}

func (o *Options) Run(ctx context.Context, run string) error {
	if o.End {
		return o.end(ctx, run)
	}
	s := &v1alpha1.Suite{}
	if err := o.Get(ctx, "run", run, s); err != nil {
		return err
	}
	pods := &corev1.PodList{}
	if err := o.Client.List(ctx, pods, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelSuite: s.Name}); err != nil {
		return o.ExplainError(err, "pods")
	}
	if !s.Finished() {
		return o.beside(s, pods.Items)
	}
	j := &batchv1.Job{}
	err := o.Client.Get(ctx, client.ObjectKeyFromObject(s), j)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("the Job of the run %s is gone, or there was none, so its pod cannot be copied. "+
			"Repeat the run: %s", s.Name, rerun.Command(s))
	}
	if err != nil {
		return o.ExplainError(err, fmt.Sprintf("Job %q", s.Name))
	}
	ended, failed := outcome.PodToDebug(pods.Items)
	o.Failed = failed
	p, problem := job.DebugPod(s, j, ended, o.Debugging)
	switch {
	case problem != "":
		return fmt.Errorf("%s", problem)
	case o.Print:
		p.APIVersion, p.Kind = "v1", "Pod"
		return o.Console.WriteYAML(p)
	default:
		return o.create(ctx, s, j, p)
	}
}

func (o *Options) create(ctx context.Context, s *v1alpha1.Suite, j *batchv1.Job, p *corev1.Pod) error {
	err := o.Client.Create(ctx, p)
	existed := apierrors.IsAlreadyExists(err)
	if existed {
		err = o.Client.Get(ctx, client.ObjectKeyFromObject(p), p)
	}
	if err != nil {
		return o.ExplainError(err, fmt.Sprintf("pod %q", p.Name))
	}
	if p.Labels[v1alpha1.LabelDebug] != s.Name {
		return fmt.Errorf("the pod %s in the namespace %s is something else. Delete it, or use --print", p.Name, p.Namespace)
	}
	return o.show(s, j, p, existed)
}

func (o *Options) end(ctx context.Context, run string) error {
	p := &corev1.Pod{}
	err := o.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: job.DebugPodName(run)}, p)
	if err == nil && p.Labels[v1alpha1.LabelDebug] == run {
		err = o.Client.Delete(ctx, p)
	}
	found := !apierrors.IsNotFound(err) && p.Labels[v1alpha1.LabelDebug] == run
	if err := client.IgnoreNotFound(err); err != nil {
		return o.ExplainError(err, fmt.Sprintf("pod %q", job.DebugPodName(run)))
	}
	return o.Console.Result(map[string]any{"run": run, "namespace": o.Namespace, "ended": found}, func() error {
		if found {
			o.Console.Note("The pod %s %s stops.", p.Name, o.Place())
		} else {
			o.Console.Note("There is no pod to debug the run %s %s.", run, o.Place())
		}
		return nil
	})
}
