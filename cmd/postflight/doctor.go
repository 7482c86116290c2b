package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/core/doctor"
	"github.com/postflight-dev/postflight/internal/core/version"
)

type doctorOptions struct {
	cluster
	podIn string
}

func newDoctor() *cobra.Command {
	o := &doctorOptions{}
	cmd := withTroubleExit(&cobra.Command{
		Use:   "doctor",
		Short: "Check an installation, and say what to do",
		Long: `Checks the installation of Postflight in a cluster: its CRDs, replicas, rights, policies, leader, object store,
clocks, certificates, Teams, keys, Triggers and queue. Only --pod-in changes something: it starts a pod for a moment.

Exit codes: 0 everything works (or there are only warnings), 1 something does not work, 3 there is no cluster.`,
		Example: `  postflight doctor
  # Can pods of the team acme reach Postflight, the object store and webhooks?
  postflight doctor --pod-in acme`,
		Args: cobra.NoArgs,
		RunE: o.command(func(ctx context.Context, _ []string) error { return o.run(ctx) }),
	})
	o.output.addFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.namespace, "namespace", "n", "postflight-system", "namespace of the manager")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "path of the kubeconfig; default: $KUBECONFIG, or ~/.kube/config")
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

func (o *doctorOptions) checks() []check {
	return []check{
		{"CRDs", o.crds}, {"rights", o.rights}, {"policies", o.policies}, {"leader", o.leader}, {"replicas", o.replicas}, {"certificates", o.certificates},
		{"teams", o.teams}, {"triggers", o.triggers}, {"queue", o.queue}, {"reach", o.reach},
	}
}

func (o *doctorOptions) run(ctx context.Context) error {
	if _, err := o.pods.Discovery().ServerVersion(); err != nil {
		return fmt.Errorf("the cluster does not answer: %w", err)
	}
	findings := o.examine(ctx)
	level := doctor.Worst(findings)
	report := map[string]any{"version": version.Get().Version, "namespace": o.namespace, "level": level, "findings": findings}
	if err := o.console.result(report, func() error { return o.print(findings) }); err != nil {
		return err
	}
	if level == doctor.Failure {
		return exitf(exitFailed, "something does not work")
	}
	return nil
}

// checkTimeout bounds a check. That of a pod includes the pull of an image.
const checkTimeout = 2 * time.Minute

func (o *doctorOptions) examine(ctx context.Context) []doctor.Finding {
	in, findings, err := o.manager(ctx)
	if err != nil {
		findings = append(findings, doctor.Unchecked("manager", err))
	}
	for _, c := range o.checks() {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		found, err := c.observe(ctx, in)
		cancel()
		if findings = append(findings, found...); err != nil {
			findings = append(findings, doctor.Unchecked(c.name, err))
		}
	}
	return findings
}

func (o *doctorOptions) print(findings []doctor.Finding) error {
	sign := map[doctor.Level]string{doctor.OK: "✓", doctor.Warning: "!", doctor.Failure: "✗"}
	rows := [][]string{{"", "CHECK", "FOUND"}}
	for _, f := range findings {
		rows = append(rows, []string{sign[f.Level], f.Check, f.Message})
		if f.Advice != "" {
			rows = append(rows, []string{"", "", "→ " + f.Advice})
		}
	}
	return o.console.table(rows)
}
