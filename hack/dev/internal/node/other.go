//go:build !linux

package node

import (
	"errors"
	"net/netip"
	"os"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

var errLinuxOnly = errors.New("pods need Linux")

// TakenNetworks finds none, because there are no pods.
func TakenNetworks() ([]netip.Prefix, error) { return nil, nil }

// CreateBridge fails.
func CreateBridge(layout.Layout, layout.Plan) error { return errLinuxOnly }

// Clean removes the pid files and the state of the supervisor.
func Clean(l layout.Layout) error { return os.RemoveAll(l.Path("run")) }

// CreateServiceNetwork fails.
func CreateServiceNetwork(layout.Layout, layout.Plan) (func() error, error) { return nil, errLinuxOnly }

func writeCNI(layout.Layout, layout.Plan) error { return errLinuxOnly }
func createCgroup(layout.Layout) error          { return errLinuxOnly }
func onOverlay(string) bool                     { return false }
