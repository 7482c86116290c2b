package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// folder is the folder of the cluster without a name. Those with one are in folders beside it: .dev-NAME.
const folder = ".dev"

// clusterName is short, because it is part of names of Environments and of the paths of sockets.
var clusterName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$`)

// Folder returns the folder of the cluster with this name, or of the one without.
func Folder(name string) (string, error) {
	switch {
	case name == "":
		return folder, nil
	case !clusterName.MatchString(name):
		return "", fmt.Errorf("%q is no name of a cluster: use at most 20 of a-z, 0-9 and '-', such as two", name)
	}
	return folder + "-" + name, nil
}

// Name returns the name of the cluster, or "".
func (l Layout) Name() string {
	name, found := strings.CutPrefix(filepath.Base(l.Dir), folder+"-")
	if !found || !clusterName.MatchString(name) {
		return ""
	}
	return name
}

// Make returns the command that does this with the cluster.
func (l Layout) Make(target string) string {
	switch {
	case l.Name() != "":
		return "make " + target + " CLUSTER=" + l.Name()
	case filepath.Base(l.Dir) == folder:
		return "make " + target
	}
	return "bin/dev " + target + " --dir " + l.Dir
}

// Hub returns the cluster without a name beside a named one, which it trusts. There may be none.
func (l Layout) Hub() (hub Layout, exists bool) {
	hub = Layout{Root: l.Root, Dir: filepath.Join(filepath.Dir(l.Dir), folder)}
	if l.Name() == "" {
		return hub, false
	}
	_, err := os.Stat(hub.Path("plan.json"))
	return hub, err == nil
}

// HubIssuer signs the ServiceAccount tokens of clusters without a name.
const HubIssuer = "https://kubernetes.default.svc.cluster.local"

// Issuer signs the cluster's ServiceAccount tokens. That of a named cluster is its own: a cluster that trusts another one takes tokens
// with its own issuer for those of its own ServiceAccounts.
func (l Layout) Issuer() string {
	if l.Name() == "" {
		return HubIssuer
	}
	return "https://" + l.Name() + ".postflight.test"
}

// reserved returns the addresses of the clusters beside this one, which they keep while they are stopped. The default ports are those of
// the cluster without a name, even before its first start.
func (l Layout) reserved() ([]Plan, error) {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(l.Dir), folder+"*", "plan.json"))
	if err != nil {
		return nil, err
	}
	var plans []Plan
	if l.Name() != "" {
		plans = append(plans, Plan{PortBase: DefaultPortBase})
	}
	for _, file := range files {
		other := Layout{Dir: filepath.Dir(file)}
		if other.Dir == l.Dir {
			continue
		}
		plan, err := other.LoadPlan()
		if err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	return plans, nil
}
