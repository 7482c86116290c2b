// Package doctor has the command that checks an installation.
package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/doctor"
	"github.com/postflight-dev/postflight/internal/core/text/version"
)

type Options struct {
	access.Cluster
	podIn string
}

func New() *cobra.Command {
	o := &Options{}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:   "doctor",
		Short: "Check an installation, and say what to do",
		Long: `Checks the installation of Postflight in a cluster: its CRDs, replicas, rights, policies, leader, object store,
clocks, certificates, Teams, keys, TrustPolicies, Triggers and their classes,
EventSources, DeploymentGates, Quarantines, Environments and queue. Only --pod-in changes something: it starts a pod for a moment.

Exit codes: 0 everything works (or there are only warnings), 1 something does not work, 3 there is no cluster.`,
		Example: `  postflight doctor
  # Can pods of the team acme reach Postflight, the object store and webhooks?
  postflight doctor --pod-in acme`,
		Args: cobra.NoArgs,
		RunE: o.Command(func(ctx context.Context, _ []string) error { return o.run(ctx) }),
	})
	o.Output.AddFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.Namespace, "namespace", "n", "postflight-system", "namespace of the manager")
	f.StringVar(&o.Context, "context", "", "context of the kubeconfig")
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "path of the kubeconfig; default: $KUBECONFIG, or ~/.kube/config")
	f.StringVar(&o.podIn, "pod-in", "", "namespace in which a short-lived Job tries what pods can resolve and reach")
	return cmd
}

// installation is what all checks need.
type installation struct {
	deployment *appsv1.Deployment // nil: there is none
	pods       []corev1.Pod
}

// check observes, and says what it found. An error means that it could not observe.
type check struct {
	name    string
	observe func(context.Context, installation) ([]doctor.Finding, error)
}

func (o *Options) checks() []check {
	crds, triggers := &apiextensions.CustomResourceDefinitionList{}, &v1alpha1.TriggerList{}
	suites := &v1alpha1.SuiteList{}
	sources, quarantines := &v1alpha1.EventSourceList{}, &v1alpha1.QuarantineList{}
	gates, clusters := &v1alpha1.DeploymentGateList{}, &v1alpha1.ClusterList{}
	return []check{
		o.listed("CRDs", crds, func() []doctor.Finding { return doctor.CRDs(crds.Items) }),
		{"rights", o.rights}, {"policies", o.policies}, {"leader", o.leader}, {"replicas", o.replicas}, {"certificates", o.certificates},
		{"teams", o.teams}, {"trustpolicies", o.trustPolicies},
		o.listed("triggers", triggers, func() []doctor.Finding { return doctor.Triggers(triggers.Items) }),
		{"triggerclasses", o.triggerClasses},
		o.listed("eventsources", sources, func() []doctor.Finding { return doctor.EventSources(sources.Items) }),
		o.listed("deploymentgates", gates, func() []doctor.Finding { return doctor.DeploymentGates(gates.Items) }),
		o.listed("clusters", clusters, func() []doctor.Finding { return doctor.Clusters(clusters.Items) }),
		o.listed("quarantines", quarantines, func() []doctor.Finding { return doctor.Quarantines(quarantines.Items) }),
		{"environments", o.environments},
		o.listed("queue", suites, func() []doctor.Finding { return doctor.Queue(suites.Items, o.Clock.Now()) }),
		{"reach", o.reach},
	}
}

// listed is a check of all objects of a kind.
func (o *Options) listed(name string, list client.ObjectList, find func() []doctor.Finding) check {
	return check{name, func(ctx context.Context, _ installation) ([]doctor.Finding, error) {
		if err := o.Client.List(ctx, list); err != nil {
			return nil, err
		}
		return find(), nil
	}}
}

func (o *Options) run(ctx context.Context) error {
	if _, err := o.Pods.Discovery().ServerVersion(); err != nil {
		return fmt.Errorf("the cluster does not answer: %w", err)
	}
	findings := o.examine(ctx)
	level := doctor.Worst(findings)
	report := map[string]any{"version": version.Get().Version, "namespace": o.Namespace, "level": level, "findings": findings}
	if err := o.Console.Result(report, func() error { return o.print(findings) }); err != nil {
		return err
	}
	if level == doctor.Failure {
		return cli.Exitf(cli.ExitFailed, "something does not work")
	}
	return nil
}

// checkTimeout bounds a check. That of a pod includes the pull of an image.
const checkTimeout = 2 * time.Minute

func (o *Options) examine(ctx context.Context) []doctor.Finding {
	inst, findings, err := o.manager(ctx)
	if err != nil {
		findings = append(findings, doctor.Unchecked("manager", err))
	}
	for _, c := range o.checks() {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		found, err := c.observe(ctx, inst)
		cancel()
		if findings = append(findings, found...); err != nil {
			findings = append(findings, doctor.Unchecked(c.name, err))
		}
	}
	return findings
}

func (o *Options) print(findings []doctor.Finding) error {
	sign := map[doctor.Level]string{doctor.OK: "✓", doctor.Warning: "!", doctor.Failure: "✗"}
	rows := [][]string{{"", "CHECK", "FOUND"}}
	for _, f := range findings {
		rows = append(rows, []string{sign[f.Level], f.Check, f.Message})
		if f.Advice != "" {
			rows = append(rows, []string{"", "", "→ " + f.Advice})
		}
	}
	return o.Console.Table(rows)
}
