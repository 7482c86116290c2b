package node

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// TakenNetworks lists the networks that this machine has an address in or a route to.
func TakenNetworks() ([]netip.Prefix, error) {
	var taken []netip.Prefix
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			taken = append(taken, prefix)
		}
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, err
	}
	for _, route := range routes {
		if route.Dst == nil {
			continue
		}
		if prefix, err := netip.ParsePrefix(route.Dst.String()); err == nil {
			taken = append(taken, prefix)
		}
	}
	return taken, nil
}

// CreateBridge makes the network of the node and its pods.
func CreateBridge(l layout.Layout, p layout.Plan) error {
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: l.Bridge()}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("creating the bridge %s: %w", l.Bridge(), err)
	}
	if err := netlink.LinkSetAlias(bridge, l.Mark()); err != nil {
		return err
	}
	_, pods, err := net.ParseCIDR(p.PodCIDR())
	if err != nil {
		return err
	}
	pods.IP = net.ParseIP(p.BridgeIP())
	if err := netlink.AddrAdd(bridge, &netlink.Addr{IPNet: pods}); err != nil {
		return fmt.Errorf("adding the address %s to the bridge: %w", pods, err)
	}
	return netlink.LinkSetUp(bridge)
}

// removeBridge removes the bridge and the interfaces of its pods, if the bridge has our mark.
func removeBridge(l layout.Layout) error {
	bridge, err := netlink.LinkByName(l.Bridge())
	var notFound netlink.LinkNotFoundError
	if errors.As(err, &notFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if alias := bridge.Attrs().Alias; alias != l.Mark() && alias != "" {
		return fmt.Errorf("the network device %s is not ours (its alias is %q)", l.Bridge(), alias)
	}
	links, err := netlink.LinkList()
	if err != nil {
		return err
	}
	for _, link := range links {
		if link.Attrs().MasterIndex == bridge.Attrs().Index {
			_ = netlink.LinkDel(link) // it may already be gone with its namespace
		}
	}
	return netlink.LinkDel(bridge)
}

// writeCNI does not let pods reach beyond this machine: masquerading would change its firewall.
func writeCNI(l layout.Layout, p layout.Plan) error {
	config := fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": %[1]q,
  "plugins": [{
    "type": "bridge",
    "bridge": %[1]q,
    "ipMasq": false,
    "hairpinMode": true,
    "ipam": {
      "type": "host-local",
      "dataDir": %[2]q,
      "ranges": [[{"subnet": %[3]q, "rangeStart": "10.%[5]d.1.0", "gateway": %[4]q}]],
      "routes": [{"dst": "0.0.0.0/0"}, {"dst": %[6]q, "gw": %[7]q}]
    }
  }]
}
`, l.Bridge(), l.Path("node", "ipam"), p.PodCIDR(), p.BridgeIP(), p.Subnet, p.ServiceCIDR(), p.ServiceRouterIP())
	if err := os.MkdirAll(l.Path("node", "cni"), 0o755); err != nil {
		return err
	}
	return layout.WriteFile(l.Path("node", "cni", "10-bridge.conflist"), []byte(config), 0o644)
}
