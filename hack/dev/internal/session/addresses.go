package session

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
)

// choose keeps the addresses of the last start if they are still free. A lock over the whole machine
// keeps two clusters that start at once from choosing the same network.
func (s *Session) choose() error {
	unlock, err := machineLock()
	if err != nil {
		return err
	}
	defer unlock()
	before, err := s.layout.LoadPlan()
	if err != nil {
		return err
	}
	preferred := before.PortBase
	if preferred == 0 {
		preferred = s.options.PortBase
	}
	if s.plan.PortBase, err = layout.ChoosePorts(preferred, layout.FreePort); err != nil {
		return err
	}
	if s.plan.PortBase != preferred {
		s.console.Warn("port %d or one of the next ones is taken: this cluster uses those from %d on", preferred, s.plan.PortBase)
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
	return node.Prepare(s.layout, s.plan, s.tools)
}

// chooseSubnet keeps the network of the last start. If that has been taken by something else, the
// cluster has to start empty: the addresses of its services are kept in etcd for good.
func (s *Session) chooseSubnet(before int) error {
	taken, err := node.TakenNetworks()
	if err != nil {
		return err
	}
	preferred := before
	if before == 0 {
		preferred = s.layout.PreferredSubnet()
	}
	s.plan.Subnet, err = layout.ChooseSubnet(preferred, taken)
	if err != nil || before == 0 || s.plan.Subnet == before {
		return err
	}
	s.console.Warn("the network 10.%d.0.0/16 of this cluster is taken by something else: it starts empty in 10.%d.0.0/16", before, s.plan.Subnet)
	return s.putAside("etcd")
}

// machineLock is held while addresses are chosen.
func machineLock() (func(), error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("postflight-dev-%d.lock", os.Getuid()))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return nil, err
	}
	return func() { file.Close() }, nil
}
