package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/scope"
)

// scopeOptions are the flags of a manager that may see only a part of the cluster.
type scopeOptions struct {
	scope.Scope
	teamsFile string
}

func (o *scopeOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.Namespaces, "watch-namespaces", nil,
		"the only namespaces that the manager reads and writes, besides its own; default: all")
	f.StringVar(&o.teamsFile, "teams-file", "",
		"file with a TeamList, the Teams of --watch-namespaces: the manager then reads none from the cluster")
}

// maxTeamsFile bounds the file, in bytes: it comes from a ConfigMap.
const maxTeamsFile = 1 << 20

// load reads the Teams.
func (o *scopeOptions) load() error {
	switch {
	case len(o.Namespaces) == 0 && o.teamsFile == "":
		return nil
	case len(o.Namespaces) == 0 || o.teamsFile == "":
		return errors.New("--watch-namespaces and --teams-file: set both, or neither")
	}
	slices.Sort(o.Namespaces)
	o.Namespaces = slices.Compact(o.Namespaces)
	info, err := os.Stat(o.teamsFile)
	if err == nil && info.Size() > maxTeamsFile {
		err = fmt.Errorf("has %d bytes, and %d are allowed", info.Size(), maxTeamsFile)
	}
	if err == nil {
		err = o.read()
	}
	if err != nil {
		return fmt.Errorf("--teams-file: %w", err)
	}
	return nil
}

func (o *scopeOptions) read() error {
	text, err := os.ReadFile(o.teamsFile)
	if err != nil {
		return err
	}
	list := &v1alpha1.TeamList{}
	if err := yaml.UnmarshalStrict(text, list); err != nil {
		return err
	}
	o.Teams = list.Items
	return o.check()
}

// teamName is what the schema of a Team demands of its name, with which the paths of its files start.
var teamName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// check also demands what the reconciler of Teams would report.
func (o *scopeOptions) check() error {
	owners, names := map[string]string{}, map[string]bool{}
	for i := range o.Teams {
		t := &o.Teams[i]
		namespace := t.NamespaceName()
		switch {
		case !teamName.MatchString(t.Name):
			return fmt.Errorf("the name %q of a Team must be a DNS label: at most 63 of a-z, 0-9 and '-', no dots", t.Name)
		case names[t.Name]:
			return fmt.Errorf("there are two Teams %q", t.Name)
		case !slices.Contains(o.Namespaces, namespace):
			return fmt.Errorf("the namespace %q of the Team %q is not one of --watch-namespaces", namespace, t.Name)
		case owners[namespace] != "":
			return fmt.Errorf("the Teams %q and %q claim the same namespace %q", owners[namespace], t.Name, namespace)
		case t.RecordLifetime() < 24*time.Hour || t.SuiteBound() < 0 || t.UnfinishedSuiteBound() < 0 || t.Spec.MaxConcurrentSuites < 0:
			return fmt.Errorf("the Team %q keeps records for less than 24h, or has a limit below 0", t.Name)
		case len(t.Spec.Webhooks) > 0: // the status of a Team says since when each exists, and these have none
			return fmt.Errorf(
				"the Team %q has webhooks, which only Teams of the cluster can have; Triggers can tell a chat, with spec.notify", t.Name)
		}
		owners[namespace], names[t.Name] = t.Name, true
	}
	return nil
}
