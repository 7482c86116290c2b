package layout

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
)

// Offsets of the ports from the port base. The demo's port is on the bridge, all others on loopback.
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
	portCount = 20 // room for more; also the step to the next base that is tried
)

// Plan is what is chosen once per cluster and kept, so that addresses stay the same over restarts.
type Plan struct {
	PortBase int `json:"portBase"`
	// Subnet is N in 10.N.0.0/16, the network of pods and services.
	Subnet int `json:"subnet"`
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

// BridgeIP is the node's address, and what pods see of this machine.
func (p Plan) BridgeIP() string { return fmt.Sprintf("10.%d.0.1", p.Subnet) }

// PodCIDR is the network of the bridge.
func (p Plan) PodCIDR() string { return fmt.Sprintf("10.%d.0.0/17", p.Subnet) }

// ServiceCIDR is the network of cluster IPs.
func (p Plan) ServiceCIDR() string { return fmt.Sprintf("10.%d.128.0/24", p.Subnet) }

// KubernetesIP is the cluster IP of the API server: always the first of the service network.
func (p Plan) KubernetesIP() string { return fmt.Sprintf("10.%d.128.1", p.Subnet) }

func (p Plan) network() netip.Prefix {
	return netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", p.Subnet))
}

// ChoosePorts keeps the preferred base if all its ports are free, or else takes the next free one.
func ChoosePorts(preferred int, free func(port int) bool) (int, error) {
	for base := preferred; base < preferred+50*portCount && base+portCount <= 32768; base += portCount {
		if allFree(base, free) {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row found from %d on; choose others with --port-base", portCount, preferred)
}

func allFree(base int, free func(port int) bool) bool {
	for port := base; port <= base+PortKubelet; port++ {
		if !free(port) {
			return false
		}
	}
	return true
}

// PreferredSubnet is the network that a cluster of this folder takes first. Different folders prefer
// different ones, so that one does not take another's while that is stopped.
func (l Layout) PreferredSubnet() int {
	sum := sha256.Sum256([]byte(l.Dir))
	return firstSubnet + int(sum[0])%(lastSubnet-firstSubnet+1)
}

// ChooseSubnet keeps the preferred network if nothing on the machine overlaps it, or else takes the
// first that is free. Only if none is, wide routes do not count: behind a VPN that claims all of
// 10.0.0.0/8, the bridge's narrower one wins.
func ChooseSubnet(preferred int, taken []netip.Prefix) (int, error) {
	candidates := []int{preferred}
	for n := firstSubnet; n <= lastSubnet; n++ {
		candidates = append(candidates, n)
	}
	for _, widest := range []int{1, 16} { // a default route covers everything and takes nothing
		for _, n := range candidates {
			if !overlapsAny(Plan{Subnet: n}.network(), taken, widest) {
				return n, nil
			}
		}
	}
	return 0, fmt.Errorf("all networks from 10.%d.0.0/16 to 10.%d.0.0/16 are taken on this machine", firstSubnet, lastSubnet)
}

func overlapsAny(network netip.Prefix, taken []netip.Prefix, widest int) bool {
	for _, other := range taken {
		if other.Bits() >= widest && network.Overlaps(other) {
			return true
		}
	}
	return false
}

// FreePort says whether nothing listens on the port on loopback.
func FreePort(port int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

// LoadPlan reads what was chosen before; a missing or broken file is an empty plan.
func (l Layout) LoadPlan() (Plan, error) {
	var plan Plan
	content, err := os.ReadFile(l.Path("plan.json"))
	if errors.Is(err, os.ErrNotExist) {
		return plan, nil
	}
	if err != nil {
		return plan, err
	}
	if json.Unmarshal(content, &plan) != nil {
		return Plan{}, nil
	}
	return plan, nil
}

// SavePlan keeps what was chosen.
func (l Layout) SavePlan(plan Plan) error {
	content, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	return WriteFile(l.Path("plan.json"), append(content, '\n'), 0o644)
}

// WriteFile replaces a file whole: readers see the old content or the new, also after a kill.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
