package session

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
)

// choose keeps the last addresses if they are free. A lock keeps two clusters of the machine from choosing the same network.
func (s *Session) choose() error {
	lock, err := layout.Lock(filepath.Join(os.TempDir(), fmt.Sprintf("postflight-dev-%d.lock", os.Getuid())), nil)
	if err != nil {
		return err
	}
	defer lock.Close()
	before, err := s.layout.LoadPlan()
	if err != nil {
		return err
	}
	preferred := cmp.Or(before.PortBase, s.options.PortBase)
	if s.plan.PortBase, err = layout.ChoosePorts(preferred, layout.FreePort); err != nil {
		return err
	}
	if s.plan.PortBase != preferred {
		s.console.Warn("port %d or one of the next ones is in use, so this cluster uses those from %d on", preferred, s.plan.PortBase)
	}
	if err := s.chooseSubnet(before.Subnet); err != nil {
		return err
	}
	if err := s.layout.SavePlan(s.plan); err != nil || !s.options.Node {
		return err
	}
	if err := node.CreateBridge(s.layout, s.plan); err != nil {
		return err
	}
	if s.enterRouter, err = node.CreateServiceNetwork(s.layout, s.plan); err != nil {
		return err
	}
	return node.Prepare(s.layout, s.plan, s.tools)
}

// chooseSubnet keeps the last network. If it is taken, the cluster starts empty, because etcd contains the addresses of its services.
func (s *Session) chooseSubnet(before int) error {
	taken, err := node.TakenNetworks()
	if err != nil {
		return err
	}
	s.plan.Subnet, err = layout.ChooseSubnet(cmp.Or(before, s.layout.PreferredSubnet()), taken)
	if err != nil || before == 0 || s.plan.Subnet == before {
		return err
	}
	s.console.Warn("something else uses the network 10.%d.0.0/16 of this cluster, so it starts empty in 10.%d.0.0/16", before, s.plan.Subnet)
	return s.putAside("etcd")
}
