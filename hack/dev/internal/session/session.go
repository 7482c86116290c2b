// Package session is a running development cluster: one supervising process that starts every part,
// keeps it running and stops all of them in order.
package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/internal/build"
	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

// Options are what the flags say.
type Options struct {
	PortBase int  // preferred first port
	Node     bool // run pods
}

// Session is one running cluster.
type Session struct {
	layout  layout.Layout
	options Options
	console *console.Console
	spawner *proc.Spawner

	plan       layout.Plan
	secrets    Secrets
	tools      node.Tools
	client     httpClient
	etcdClient httpClient

	state     State
	children  []*proc.Child  // in the order of their start
	listeners []net.Listener // for pods
	// serviceListeners lead to the manager's pods, if it runs as such.
	serviceListeners []net.Listener
	// runningManager is the digest of the binary that the manager was started from.
	runningManager string
}

// Run supervises a cluster until ctx ends. It says when it is ready.
func Run(ctx context.Context, l layout.Layout, options Options, c *console.Console) (err error) {
	held, err := lock(l)
	if err != nil {
		return err
	}
	defer held.Close()
	s := &Session{layout: l, options: options, console: c, spawner: proc.NewSpawner()}
	// Registered before anything is started: its default action would end the supervisor.
	refresh := make(chan os.Signal, 1)
	signal.Notify(refresh, syscall.SIGUSR1)
	if err := node.Clean(l); err != nil {
		c.Warn("removing what an earlier run left: %v", err)
	}
	if err := os.MkdirAll(l.Path("run"), 0o755); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, s.stop(err))
	}()
	s.setState(Starting, "")
	if err := s.start(ctx); err != nil {
		return ignoreCancel(ctx, err)
	}
	s.refresh(ctx)
	if ctx.Err() == nil && s.state.Message == "" {
		s.summary()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-refresh:
			s.refresh(ctx)
		}
	}
}

// ignoreCancel makes Ctrl-C during the start no error.
func ignoreCancel(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// refresh brings everything up to date with the checkout: at the end of the start, and whenever `up`
// or `deploy` ask for it. A broken manifest or manager does not end the cluster, so that one can
// look and mend it.
func (s *Session) refresh(ctx context.Context) {
	message := ""
	if err := s.converge(ctx); err != nil && ctx.Err() == nil {
		message = err.Error()
		s.console.Warn("%s", message)
	}
	s.state.Serial++
	s.setState(Ready, message)
}

func (s *Session) start(ctx context.Context) error {
	begin := time.Now()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.writeEnv(); err != nil {
		return err
	}
	if err := s.startControlPlane(ctx); err != nil {
		return err
	}
	return s.startNode(ctx, begin)
}

// prepare chooses addresses and makes all files that the components need.
func (s *Session) prepare(ctx context.Context) (err error) {
	if s.options.Node {
		s.tools, err = build.Builder{Layout: s.layout, Console: s.console}.NodeTools(ctx)
		if err != nil {
			return err
		}
	}
	if s.secrets, err = loadSecrets(s.layout); err != nil {
		return err
	}
	if err := os.MkdirAll(s.layout.Path("store", bucket), 0o755); err != nil {
		return err
	}
	if err := s.choose(); err != nil {
		return err
	}
	return s.issue()
}

// putAside renames data that cannot be used, so that nothing is lost that someone might still want.
func (s *Session) putAside(name string) error {
	data := s.layout.Path(name)
	if !exists(data) {
		return nil
	}
	return errors.Join(os.RemoveAll(data+".old"), os.Rename(data, data+".old"))
}

func (s *Session) startControlPlane(ctx context.Context) error {
	step := s.console.Step("etcd and store")
	store := s.keep(s.store())
	if s.options.Node {
		s.keep(node.Containerd(s.layout, s.tools))
	}
	if err := s.startEtcd(ctx); err != nil {
		step.Fail()
		return err
	}
	if err := store.WaitReady(ctx, 20*time.Second); err != nil {
		step.Fail()
		return err
	}
	step.Done("http://%s", s.plan.Loopback(layout.PortStore))

	step = s.console.Step("API server")
	if err := s.keep(s.apiserver()).WaitReady(ctx, time.Minute); err != nil {
		step.Fail()
		return err
	}
	step.Done("%s", s.server())

	step = s.console.Step("controllers")
	controllers := s.keep(s.controllerManager())
	s.keep(s.scheduler())
	if err := controllers.WaitReady(ctx, time.Minute); err != nil {
		step.Fail()
		return err
	}
	step.Done("controller-manager, scheduler")
	return s.forward()
}

// startEtcd puts data aside that etcd cannot start from: after a crash of the machine that may
// happen, because etcd does not sync here.
func (s *Session) startEtcd(ctx context.Context) error {
	etcd := s.keep(s.etcd())
	err := etcd.WaitReady(ctx, 20*time.Second)
	data := s.layout.Path("etcd")
	if !errors.Is(err, proc.ErrCrashed) || !exists(data) {
		return err
	}
	etcd.Stop()
	s.children = slices.DeleteFunc(s.children, func(c *proc.Child) bool { return c == etcd })
	if err := s.putAside("etcd"); err != nil {
		return err
	}
	s.console.Warn("etcd does not start from its data; they are in %s.old now, and the cluster starts empty.\n%v", data, err)
	return s.keep(s.etcd()).WaitReady(ctx, 20*time.Second)
}

func (s *Session) startNode(ctx context.Context, begin time.Time) error {
	if !s.options.Node {
		return nil
	}
	step := s.console.Step("node")
	kubelet := s.keep(node.Kubelet(s.layout, s.plan, s.nodeReady(begin)))
	// Images first: a pod that finds none waits long for its second chance.
	step.Update("building and loading images")
	if err := s.loadImages(ctx); err != nil {
		step.Fail()
		return err
	}
	step.Update("waiting for the kubelet")
	if err := kubelet.WaitReady(ctx, time.Minute); err != nil {
		step.Fail()
		return err
	}
	step.Done("%s, pods in %s", node.Name, s.plan.PodCIDR())
	return nil
}

// stop ends everything, what depends on others first. A second Ctrl-C has its usual effect, and the
// next start cleans up.
func (s *Session) stop(cause error) error {
	if cause != nil {
		s.setState(Failed, cause.Error())
	} else {
		s.setState(Stopping, "")
	}
	step := s.console.Step("stopping")
	for _, listener := range slices.Concat(s.listeners, s.serviceListeners) {
		listener.Close()
	}
	for _, group := range [][]string{
		{"manager"},
		{"kubelet", "kube-scheduler", "kube-controller-manager"},
		{"containerd", "kube-apiserver"},
		{"etcd", "store"},
	} {
		s.stopGroup(group)
	}
	if err := node.Clean(s.layout); err != nil {
		step.Fail()
		return fmt.Errorf("removing what pods have left: %w", err)
	}
	step.Done("everything has ended")
	return nil
}

func (s *Session) stopGroup(names []string) {
	var group sync.WaitGroup
	for _, child := range s.children {
		if slices.Contains(names, child.Name) {
			group.Go(child.Stop)
		}
	}
	group.Wait()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
