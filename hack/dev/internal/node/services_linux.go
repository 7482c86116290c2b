package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// serviceSysctls make a namespace a router whose only interface leads to the bridge.
var serviceSysctls = map[string]string{
	"ipv4/ip_forward":               "1",
	"ipv4/conf/all/send_redirects":  "0", // pods would bypass the router
	"ipv4/conf/eth0/send_redirects": "0",
	"ipv6/conf/all/disable_ipv6":    "1",
}

// CreateServiceNetwork makes a router for cluster IPs: a network namespace on the bridge with kube-proxy's rules, apart from the firewall
// and other clusters. It ends with its processes. enter moves the calling thread into it.
func CreateServiceNetwork(l layout.Layout, p layout.Plan) (enter func() error, err error) {
	var router netns.NsHandle
	created := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever: Go ends the thread, which is in the wrong namespace
		router, err = newRouter(l, p)
		created <- err
	}()
	if err := <-created; err != nil {
		return nil, fmt.Errorf("creating the network of services: %w", err)
	}
	return func() error { return netns.Set(router) }, routeServices(l, p)
}

// newRouter moves the calling thread into the new namespace.
func newRouter(l layout.Layout, p layout.Plan) (netns.NsHandle, error) {
	machine, err := netns.Get()
	if err != nil {
		return 0, err
	}
	defer func() { _ = machine.Close() }()
	router, err := netns.New()
	if err != nil {
		return 0, err
	}
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: "eth0"},
		PeerName:  l.ServiceInterface(), PeerNamespace: netlink.NsFd(machine),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return 0, err
	}
	address := &net.IPNet{IP: net.ParseIP(p.ServiceRouterIP()), Mask: net.CIDRMask(p.PodBits(), 32)}
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return 0, err
	}
	return router, errors.Join(
		setSysctls(),
		netlink.AddrAdd(veth, &netlink.Addr{IPNet: address}),
		netlink.LinkSetUp(loopback),
		netlink.LinkSetUp(veth),
	)
}

func setSysctls() error {
	for name, value := range serviceSysctls {
		path := filepath.Join("/proc/sys/net", name)
		// Without IPv6 in the kernel, there is nothing to turn off.
		if err := os.WriteFile(path, []byte(value), 0o644); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// routeServices connects the router, and sends what this machine has for cluster IPs there.
func routeServices(l layout.Layout, p layout.Plan) error {
	bridge, err := netlink.LinkByName(l.Bridge())
	if err != nil {
		return err
	}
	router, err := netlink.LinkByName(l.ServiceInterface())
	if err != nil {
		return err
	}
	_, services, err := net.ParseCIDR(p.ServiceCIDR())
	if err != nil {
		return err
	}
	return errors.Join(
		netlink.LinkSetMaster(router, bridge),
		netlink.LinkSetUp(router),
		netlink.RouteReplace(&netlink.Route{LinkIndex: bridge.Attrs().Index, Dst: services, Gw: net.ParseIP(p.ServiceRouterIP())}),
	)
}
