package layout

import (
	"net/netip"
	"testing"
)

func TestChoosePorts(t *testing.T) {
	cases := map[string]struct {
		reason    string
		preferred int
		taken     []int
		want      int
		wantErr   bool
	}{
		"free":         {reason: "the preferred base is kept", preferred: 8780, want: 8780},
		"first taken":  {reason: "the next block is tried", preferred: 8780, taken: []int{8780}, want: 8800},
		"middle taken": {reason: "every port of a block has to be free", preferred: 8780, taken: []int{8784, 8800}, want: 8820},
		"unused":       {reason: "unused ports of the block may be taken", preferred: 8780, taken: []int{8799}, want: 8780},
		"held":         {reason: "a cluster that starts at this moment has chosen the block", preferred: 8780, taken: []int{8789}, want: 8800},
		"near the end": {reason: "the range of ephemeral ports is not entered", preferred: 32760, wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			taken := map[int]bool{}
			for _, port := range tc.taken {
				taken[port] = true
			}
			got, err := ChoosePorts(tc.preferred, func(port int) bool { return !taken[port] })
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("%s: got %d, %v; want %d", tc.reason, got, err, tc.want)
			}
		})
	}
}

func TestChooseSubnet(t *testing.T) {
	all := []string{"0.0.0.0/0", "10.0.0.0/8"}
	cases := map[string]struct {
		reason    string
		preferred int
		taken     []string
		want      int
	}{
		"free":       {reason: "the preferred network is kept", preferred: 90, taken: []string{"192.0.2.0/24"}, want: 90},
		"default":    {reason: "a default route takes nothing", preferred: 90, taken: []string{"0.0.0.0/0"}, want: 90},
		"taken":      {reason: "an address in it is enough", preferred: 90, taken: []string{"10.90.128.1/32"}, want: firstSubnet},
		"next taken": {reason: "the first free one is taken", preferred: 90, taken: []string{"10.90.0.1/17", "10.64.0.0/15"}, want: 66},
		"VPN":        {reason: "if a route claims all, ours is narrower and wins", preferred: 90, taken: all, want: 90},
		"VPN and bridge": {reason: "but not over another cluster's", preferred: 90, taken: append([]string{"10.90.0.1/17"}, all...),
			want: firstSubnet},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var taken []netip.Prefix
			for _, prefix := range tc.taken {
				taken = append(taken, netip.MustParsePrefix(prefix))
			}
			got, err := ChooseSubnet(tc.preferred, taken)
			if err != nil || got != tc.want {
				t.Errorf("%s: got %d, %v; want %d", tc.reason, got, err, tc.want)
			}
		})
	}
	var everything []netip.Prefix
	for n := firstSubnet; n <= lastSubnet; n++ {
		everything = append(everything, Plan{Subnet: n}.network())
	}
	if got, err := ChooseSubnet(90, everything); err == nil {
		t.Errorf("all networks are taken: got %d, want an error", got)
	}
}

func TestPreferredSubnet(t *testing.T) {
	seen := map[int]bool{}
	for _, dir := range []string{"/a/.dev", "/a/.test/cluster", "/b/.dev", "/c/.dev", "/d/.dev"} {
		n := Layout{Dir: dir}.PreferredSubnet()
		if n < firstSubnet || n > lastSubnet {
			t.Errorf("%s prefers %d, which is out of range", dir, n)
		}
		seen[n] = true
	}
	if len(seen) < 3 {
		t.Errorf("5 folders prefer only %d networks", len(seen))
	}
}

func TestPlanSurvives(t *testing.T) {
	l := Layout{Dir: t.TempDir()}
	if plan, err := l.LoadPlan(); err != nil || plan != (Plan{}) {
		t.Errorf("no file: got %v, %v; want an empty plan", plan, err)
	}
	want := Plan{PortBase: 8800, Subnet: 90}
	if err := l.SavePlan(want); err != nil {
		t.Fatal(err)
	}
	if got, err := l.LoadPlan(); err != nil || got != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if err := WriteFile(l.Path("plan.json"), []byte(`{"portBase":`), 0o644); err != nil {
		t.Fatal(err)
	}
	if plan, err := l.LoadPlan(); err != nil || plan != (Plan{}) {
		t.Errorf("a broken file: got %v, %v; want an empty plan", plan, err)
	}
}

// TestAddressesDoNotCollide: what pods get by chance is apart from what is chosen.
func TestAddressesDoNotCollide(t *testing.T) {
	p := Plan{Subnet: 90}
	pods, services := netip.MustParsePrefix(p.PodCIDR()), netip.MustParsePrefix(p.ServiceCIDR())
	if pods.Overlaps(services) {
		t.Errorf("pods %s overlap services %s", pods, services)
	}
	for name, address := range map[string]string{"the node": p.BridgeIP(), "the router": p.ServiceRouterIP()} {
		if ip := netip.MustParseAddr(address); !pods.Contains(ip) || p.BridgeIP() == p.ServiceRouterIP() {
			t.Errorf("%s has %s, which is not on the bridge, or taken", name, ip)
		}
	}
	// Kubernetes gives out the upper addresses first, and of a /24 the lower 16 only if no others are left.
	lower := netip.PrefixFrom(services.Addr(), 28)
	for name, address := range map[string]string{"the API server": p.KubernetesIP(), "DNS": p.DNSIP()} {
		if ip := netip.MustParseAddr(address); !lower.Contains(ip) {
			t.Errorf("%s has the cluster IP %s, which another Service may get", name, ip)
		}
	}
}
