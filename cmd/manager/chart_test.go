package main

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/test/tier"
)

// TestChartHasAllFlags: every flag of the manager can be set by a value of the chart.
func TestChartHasAllFlags(t *testing.T) {
	templates, err := os.ReadFile("../../charts/postflight/templates/_arguments.tpl")
	if err != nil {
		t.Fatal(err)
	}
	fixed := map[string]string{
		"bind-address":              "the ports of the pod are fixed",
		"health-probe-bind-address": "the ports of the pod are fixed",
		"kubeconfig":                "it runs in the cluster",
		"replica-name":              "$POD_NAME",
	}
	set := map[string]bool{}
	for _, m := range regexp.MustCompile(`- --([a-z-]+)=`).FindAllStringSubmatch(string(templates), -1) {
		set[m[1]] = true
	}
	newCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if set[f.Name] == (fixed[f.Name] != "") {
			t.Errorf("--%s: in the chart: %t; excluded: %q", f.Name, set[f.Name], fixed[f.Name])
		}
		delete(set, f.Name)
	})
	for name := range set {
		t.Errorf("the chart sets --%s, which does not exist", name)
	}
}

// TestChartFlags: with its default values, the chart gives the manager the options that config/default does.
func TestChartFlags(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	const helm = "../../bin/helm"
	if _, err := os.Stat(helm); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED, NOT PASSED: build helm by `make helm`: %v", err)
	}
	rendered, err := exec.CommandContext(t.Context(), helm, "template", "postflight", "../../charts/postflight",
		"--namespace=postflight-system", "--show-only=templates/deployment.yaml").Output()
	if err != nil {
		t.Fatal(errors.Join(err, errors.New(string(rendered))))
	}
	shipped, err := os.ReadFile("../../config/manager/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(optionsOf(t, shipped), optionsOf(t, rendered)); diff != "" {
		t.Errorf("options (-config/default +chart):\n%s", diff)
	}
}

// optionsOf are the values of all flags of a Deployment.
func optionsOf(t *testing.T, deployment []byte) map[string]string {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := yaml.Unmarshal(deployment, d); err != nil {
		t.Fatal(err)
	}
	o := &options{}
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	o.addFlags(flags)
	if err := flags.Parse(d.Spec.Template.Spec.Containers[0].Args); err != nil {
		t.Fatal(err)
	}
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) { all[f.Name] = strings.TrimSpace(f.Value.String()) })
	return all
}
