package e2e

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/postflight-dev/postflight/test/freeport"
	"github.com/postflight-dev/postflight/test/managers"
)

// manager is one process of Postflight, that a test may kill and start again.
type manager struct {
	url     string
	probes  string
	metrics string
	args    []string
	log     string // file that all its lives write to
	process *managers.Process
}

// options of a manager in a test.
type options struct {
	kubeconfig  string // default: the manager's own, straight to the API server
	leaderElect bool   // a single process needs none, and after kill -9 its lease would cost seconds
	flags       []string
}

var managerCount atomic.Int32

// newManager prepares a manager with ports of its own, without starting it. Its log stays in the folder of the cluster.
func newManager(t testing.TB, c *cluster, o options) *manager {
	t.Helper()
	var env []string
	for name, value := range c.manager {
		env = append(env, name+"="+value)
	}
	api := freeport.Address(t)
	port := api[strings.LastIndexByte(api, ':')+1:]
	forPods := podProxy{t: t, address: net.JoinHostPort(c.env["POSTFLIGHT_BRIDGE_ADDRESS"], port), server: api}
	forPods.open()
	p := managers.New(t, managers.Options{
		Kubeconfig: cmp.Or(o.kubeconfig, filepath.Join(c.dir, "manager.kubeconfig")),
		Binary:     os.Getenv(envManager),
		Address:    api,
		Env:        env,
		Flags: append([]string{
			"--public-url=http://" + api, "--pod-url=http://" + forPods.address, "--leader-elect=" + strconv.FormatBool(o.leaderElect),
		}, o.flags...),
		Log: filepath.Join(c.dir, "logs", fmt.Sprintf("manager-%d.log", managerCount.Add(1))),
	})
	return &manager{url: p.URL, probes: p.Probes, metrics: p.Metrics, args: p.Args, log: p.Log, process: p}
}

// runManager starts a manager and waits until it serves.
func runManager(t testing.TB, c *cluster, o options) *manager {
	t.Helper()
	m := newManager(t, c, o)
	m.start()
	m.awaitReady()
	return m
}

func (m *manager) start() { m.process.Start() }

// kill is kill -9: nothing is written, closed or handed over any more.
func (m *manager) kill() { m.process.Kill() }

// stop is an orderly end.
func (m *manager) stop() { m.process.Stop() }

func (m *manager) restart() { m.process.Restart() }

func (m *manager) awaitReady() { m.process.AwaitReady() }

func (m *manager) ready() bool { return m.process.Ready() }
