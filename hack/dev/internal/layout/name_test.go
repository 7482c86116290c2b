package layout

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

func TestFolder(t *testing.T) {
	cases := map[string]struct {
		reason, name, want string
	}{
		"no name":          {reason: "it is the cluster of make dev", name: "", want: ".dev"},
		"a name":           {reason: "it is beside that one", name: "two", want: ".dev-two"},
		"digits and -":     {reason: "they are allowed in names of Environments, too", name: "eu-west-1", want: ".dev-eu-west-1"},
		"a path":           {reason: "make clean-dev would remove what it names", name: "../two"},
		"a capital letter": {reason: "an Environment could not have it in its name", name: "Two"},
		"- at the end":     {reason: "an Environment could not have it in its name", name: "two-"},
		"21 characters":    {reason: "sockets need short paths", name: "aaaaaaaaaaaaaaaaaaaaa"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Folder(tc.name)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("%s: got %q, %v; want %q", tc.reason, got, err, tc.want)
			}
			if err == nil && (Layout{Dir: "/src/" + got}).Name() != tc.name {
				t.Errorf("the folder %s is that of another cluster", got)
			}
		})
	}
}

func TestIdentityOfCluster(t *testing.T) {
	cases := map[string]struct {
		reason, dir, name, issuer, up string
	}{
		"without a name": {reason: "pods and docs know its issuer", dir: "/src/.dev", issuer: HubIssuer, up: "make up"},
		"with a name": {reason: "the cluster without one has tokens of another issuer", dir: "/src/.dev-two", name: "two",
			issuer: "https://two.postflight.test", up: "make up CLUSTER=two"},
		"of a test": {reason: "any other folder has no name", dir: "/src/.test/cluster-two", issuer: HubIssuer,
			up: "bin/dev up --dir /src/.test/cluster-two"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := Layout{Dir: tc.dir}
			if l.Name() != tc.name || l.Issuer() != tc.issuer || l.Make("up") != tc.up {
				t.Errorf("%s: got %q, %q, %q", tc.reason, l.Name(), l.Issuer(), l.Make("up"))
			}
		})
	}
}

func TestHub(t *testing.T) {
	root := t.TempDir()
	two := Layout{Dir: filepath.Join(root, ".dev-two")}
	if hub, exists := two.Hub(); exists {
		t.Errorf("there is no %s yet", hub.Dir)
	}
	started(t, root, ".dev", Plan{PortBase: 8780, Subnet: 90})
	if hub, exists := two.Hub(); !exists || hub.Dir != filepath.Join(root, ".dev") {
		t.Errorf("got %s, %v; want the cluster beside it", hub.Dir, exists)
	}
	for _, dir := range []string{".dev", "cluster"} {
		if hub, exists := (Layout{Dir: filepath.Join(root, dir)}).Hub(); exists {
			t.Errorf("%s has the hub %s, but it has no name", dir, hub.Dir)
		}
	}
}

// started makes the folder of a cluster that has these addresses, or none yet.
func started(t *testing.T, root, folder string, plan Plan) Layout {
	t.Helper()
	l := Layout{Dir: filepath.Join(root, folder)}
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if plan == (Plan{}) { // not started yet
		return l
	}
	if err := l.SavePlan(plan); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestChoose(t *testing.T) {
	cases := map[string]struct {
		reason string
		folder string
		plans  map[string]Plan // of stopped clusters
		used   int             // a port
		taken  string          // a network
		want   Plan            // no subnet: the preferred one
	}{
		"the first cluster": {reason: "docs name its ports", folder: ".dev", want: Plan{PortBase: 8780}},
		"a named cluster alone": {reason: "the default ports are those of .dev, which may come later", folder: ".dev-two",
			want: Plan{PortBase: 8800}},
		"a third cluster": {reason: "those beside it keep their ports while they are stopped", folder: ".dev-three",
			plans: map[string]Plan{".dev": {8780, 90}, ".dev-two": {8800, 91}}, want: Plan{PortBase: 8820}},
		"an overlapping block": {reason: "blocks may begin anywhere", folder: ".dev-three",
			plans: map[string]Plan{".dev": {8795, 90}}, want: Plan{PortBase: 8820}},
		"the second start": {reason: "addresses stay the same", folder: ".dev-two",
			plans: map[string]Plan{".dev": {8780, 90}, ".dev-two": {8840, 93}}, want: Plan{8840, 93}},
		"the same as a stopped cluster's": {reason: "a cluster in another network would start empty", folder: ".dev-two",
			plans: map[string]Plan{".dev": {8780, 90}, ".dev-two": {8780, 90}}, want: Plan{8780, 90}},
		"the same as a running cluster's": {reason: "two cannot have them at once", folder: ".dev-two",
			plans: map[string]Plan{".dev": {8780, 90}, ".dev-two": {8780, 90}}, used: 8785, taken: "10.90.0.0/17",
			want: Plan{8800, firstSubnet}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			l := started(t, root, tc.folder, Plan{})
			for folder, plan := range tc.plans {
				started(t, root, folder, plan)
			}
			var taken []netip.Prefix
			if tc.taken != "" {
				taken = append(taken, netip.MustParsePrefix(tc.taken))
			}
			if tc.want.Subnet == 0 {
				tc.want.Subnet = l.PreferredSubnet()
			}
			before, got, err := l.Choose(DefaultPortBase, func(port int) bool { return port != tc.used }, taken)
			if err != nil || got != tc.want || before != tc.plans[tc.folder] {
				t.Errorf("%s: got %v, %v after %v; want %v", tc.reason, got, err, before, tc.want)
			}
		})
	}
}

func TestChooseLeavesNetworksOfStoppedClusters(t *testing.T) {
	root := t.TempDir()
	l := started(t, root, ".dev-two", Plan{})
	other := started(t, root, ".dev", Plan{PortBase: 8780, Subnet: l.PreferredSubnet()})
	_, got, err := l.Choose(DefaultPortBase, func(int) bool { return true }, nil)
	if err != nil || got.Subnet == l.PreferredSubnet() {
		t.Errorf("got %v, %v: %s would start empty in another network", got, err, other.Dir)
	}
}
