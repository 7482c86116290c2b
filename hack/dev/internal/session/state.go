package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
)

// Phases of a supervisor.
const (
	Starting = "starting"
	Ready    = "ready"
	Failed   = "failed"
	Stopping = "stopping"
)

// State is the state of the supervisor, which other commands read from DIR/run/state.json.
type State struct {
	PID     int    `json:"pid"`
	Phase   string `json:"phase"`
	Message string `json:"message,omitempty"`
	Serial  int    `json:"serial"` // refreshes that have ended
	Node    bool   `json:"node"`
}

// ReadState returns the last state of the supervisor, or none if the file is from a killed one.
func ReadState(l layout.Layout, supervisor int) State {
	var state State
	content, err := os.ReadFile(l.Path("run", "state.json"))
	if err != nil || json.Unmarshal(content, &state) != nil || state.PID != supervisor {
		return State{}
	}
	return state
}

func (s *Session) setState(phase, message string) {
	s.state.PID, s.state.Phase, s.state.Message, s.state.Node = os.Getpid(), phase, message, s.options.Node
	content, err := json.Marshal(s.state)
	if err == nil {
		err = layout.WriteFile(s.layout.Path("run", "state.json"), content, 0o644)
	}
	if err != nil {
		s.console.Warn("writing the state: %v", err)
	}
}

// ErrRunning says that the folder has another supervisor.
var ErrRunning = errors.New("already running")

// lock makes this process the only supervisor of the folder. The kernel knows the holder of a POSIX lock, unlike a pid file.
func lock(l layout.Layout) (*os.File, error) {
	file, err := os.OpenFile(l.Path("lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = unix.FcntlFlock(file.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart})
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%w: supervisor %d of %s", ErrRunning, Supervisor(l), l.Dir)
	}
	return file, nil
}

// Supervisor is the id of the process that supervises the folder, or 0.
func Supervisor(l layout.Layout) int {
	file, err := os.OpenFile(l.Path("lock"), os.O_RDWR, 0)
	if err != nil {
		return 0
	}
	defer file.Close()
	holder := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(file.Fd(), unix.F_GETLK, &holder); err != nil || holder.Type == unix.F_UNLCK {
		return 0
	}
	return int(holder.Pid)
}

// choose keeps the last addresses if they are free. A lock keeps two clusters of the machine from choosing the same.
func (s *Session) choose() error {
	lock, err := layout.Lock(filepath.Join(os.TempDir(), fmt.Sprintf("postflight-dev-%d.lock", os.Getuid())), nil)
	if err != nil {
		return err
	}
	defer lock.Close()
	taken, err := node.TakenNetworks()
	if err != nil {
		return err
	}
	before, chosen, err := s.layout.Choose(s.options.PortBase, layout.FreePort, taken)
	if err != nil {
		return err
	}
	s.plan = chosen
	if s.held, err = net.Listen("tcp", s.plan.Loopback(layout.PortHeld)); err != nil {
		return err
	}
	if err := s.warnOfMove(before); err != nil {
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

// warnOfMove says which addresses have changed. In another network the cluster starts empty, because etcd contains the addresses of its
// services. A named cluster never expects the default ports.
func (s *Session) warnOfMove(before layout.Plan) error {
	preferred := cmp.Or(before.PortBase, s.options.PortBase)
	if s.plan.PortBase != preferred && (before.PortBase != 0 || s.layout.Name() == "") {
		s.console.Warn("port %d or one of the next ones is in use, so this cluster uses those from %d on", preferred, s.plan.PortBase)
	}
	if before.Subnet == 0 || s.plan.Subnet == before.Subnet {
		return nil
	}
	s.console.Warn("something else uses the network 10.%d.0.0/16 of this cluster, so it starts empty in 10.%d.0.0/16",
		before.Subnet, s.plan.Subnet)
	return s.putAside("etcd")
}
