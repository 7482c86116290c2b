package layout

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
)

// Offsets of the ports from the port base. The demo's port is on the bridge, all others are on loopback.
const (
	PortAPI = iota
	PortMetrics
	PortProbes
	PortStore
	PortAPIServer
	PortEtcd
	PortEtcdPeer
	PortDemo
	PortKubelet
	PortHeld       // the supervisor listens there from its choice on, because the others open later
	portCount = 20 // with room for more; also the distance of two bases
)

// DefaultPortBase is the base of the cluster in .dev.
const DefaultPortBase = 8780

// Plan is chosen once per cluster and kept, so that addresses stay the same after a restart.
type Plan struct {
	PortBase int `json:"portBase"`
	Subnet   int `json:"subnet"` // N in 10.N.0.0/16, the network of pods and services
}

const (
	firstSubnet = 64
	lastSubnet  = 127
)

// Loopback is the address of a port for programs on this machine.
func (p Plan) Loopback(offset int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.PortBase+offset))
}

// OnBridge is the address of the same port for pods.
func (p Plan) OnBridge(offset int) string {
	return net.JoinHostPort(p.BridgeIP(), strconv.Itoa(p.PortBase+offset))
}

// BridgeIP is the address of the node, and of this machine for pods.
func (p Plan) BridgeIP() string { return fmt.Sprintf("10.%d.0.1", p.Subnet) }

// ServiceRouterIP is the address on the bridge of the router to cluster IPs.
func (p Plan) ServiceRouterIP() string { return fmt.Sprintf("10.%d.0.2", p.Subnet) }

// PodBits is the length of the prefix of PodCIDR.
func (p Plan) PodBits() int { return 17 }

// PodCIDR is the network of the bridge.
func (p Plan) PodCIDR() string { return fmt.Sprintf("10.%d.0.0/%d", p.Subnet, p.PodBits()) }

// ServiceCIDR is the network of cluster IPs.
func (p Plan) ServiceCIDR() string { return fmt.Sprintf("10.%d.128.0/24", p.Subnet) }

// KubernetesIP is the cluster IP of the API server: always the first of the service network.
func (p Plan) KubernetesIP() string { return fmt.Sprintf("10.%d.128.1", p.Subnet) }

// DNSIP is the cluster IP of kube-dns, in the part that Kubernetes keeps for addresses that are chosen.
func (p Plan) DNSIP() string { return fmt.Sprintf("10.%d.128.10", p.Subnet) }

func (p Plan) network() netip.Prefix {
	return netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", p.Subnet))
}

// ChoosePorts returns the preferred base if its ports are free, or else the next base with free ports.
func ChoosePorts(preferred int, free func(port int) bool) (int, error) {
	for base := preferred; base < preferred+50*portCount && base+portCount <= 32768; base += portCount {
		port := base
		for port <= base+PortHeld && free(port) {
			port++
		}
		if port > base+PortHeld {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row found from %d on; choose others with --port-base", portCount, preferred)
}

// Choose returns the addresses of the last start if they are free, and of a new cluster those that no cluster beside it has. The caller
// holds a lock of the machine.
func (l Layout) Choose(portBase int, free func(port int) bool, taken []netip.Prefix) (before, chosen Plan, err error) {
	if before, err = l.LoadPlan(); err != nil {
		return before, chosen, err
	}
	var others []Plan
	if before == (Plan{}) {
		if others, err = l.reserved(); err != nil {
			return before, chosen, err
		}
	}
	for _, other := range others {
		if other.Subnet != 0 {
			taken = append(taken, other.network())
		}
	}
	chosen.PortBase, err = ChoosePorts(cmp.Or(before.PortBase, portBase), func(port int) bool {
		return free(port) && !slices.ContainsFunc(others, func(o Plan) bool { return o.PortBase <= port && port < o.PortBase+portCount })
	})
	if err != nil {
		return before, chosen, err
	}
	chosen.Subnet, err = ChooseSubnet(cmp.Or(before.Subnet, l.PreferredSubnet()), taken)
	return before, chosen, err
}

// PreferredSubnet depends on the folder, so that a cluster avoids the network of a stopped one.
func (l Layout) PreferredSubnet() int {
	sum := sha256.Sum256([]byte(l.Dir))
	return firstSubnet + int(sum[0])%(lastSubnet-firstSubnet+1)
}

// ChooseSubnet returns the preferred network, or the first free one. If none is free, it ignores wide routes, such as a VPN's 10.0.0.0/8:
// the narrower route to the bridge wins.
func ChooseSubnet(preferred int, taken []netip.Prefix) (int, error) {
	candidates := []int{preferred}
	for n := firstSubnet; n <= lastSubnet; n++ {
		candidates = append(candidates, n)
	}
	for _, widest := range []int{1, 16} { // ignoring the default route
		for _, n := range candidates {
			overlaps := func(other netip.Prefix) bool {
				return other.Bits() >= widest && Plan{Subnet: n}.network().Overlaps(other)
			}
			if !slices.ContainsFunc(taken, overlaps) {
				return n, nil
			}
		}
	}
	return 0, fmt.Errorf("all networks from 10.%d.0.0/16 to 10.%d.0.0/16 are taken on this machine", firstSubnet, lastSubnet)
}

// FreePort reports whether nothing listens on the port on loopback.
func FreePort(port int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

// LoadPlan reads the plan of the last start. It is empty if the file is missing or broken.
func (l Layout) LoadPlan() (plan Plan, err error) {
	content, err := os.ReadFile(l.Path("plan.json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return plan, err
	}
	if json.Unmarshal(content, &plan) != nil {
		return Plan{}, nil
	}
	return plan, nil
}

// SavePlan keeps the plan for the next start.
func (l Layout) SavePlan(plan Plan) error {
	content, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	return WriteFile(l.Path("plan.json"), append(content, '\n'), 0o644)
}

// WriteFile replaces a file atomically: readers see the old content or the new, even after a kill.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
