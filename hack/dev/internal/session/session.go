// Package session is a running development cluster: one process that starts every part, keeps it running, and stops all in order.
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

	"github.com/inetaf/tcpproxy"

	"github.com/postflight-dev/postflight/hack/dev/internal/build"
	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

// startWithin bounds the start of a part. A busy machine needs a minute for what takes seconds.
const startWithin = 5 * time.Minute

// Options are what the flags say.
type Options struct {
	PortBase int  // preferred first port
	Node     bool // run pods
	DNS      bool // start CoreDNS, if pods run
}

// Session is one running cluster.
type Session struct {
	layout  layout.Layout
	options Options
	console *console.Console

	plan       layout.Plan
	secrets    Secrets
	tools      node.Tools
	client     httpClient
	etcdClient httpClient

	held         net.Listener // keeps the block of ports
	enterRouter  func() error // moves a thread into the network namespace of kube-proxy and DNS
	state        State
	children     []*proc.Child   // in the order of their start
	podProxy     tcpproxy.Proxy  // from pods to servers
	serviceProxy *tcpproxy.Proxy // to the manager's pods, if it runs as such

	runningManager string // digest of the binary of the running manager
}

// Run supervises a cluster until ctx ends. It prints when it is ready.
func Run(ctx context.Context, l layout.Layout, options Options, c *console.Console) (err error) {
	held, err := lock(l)
	if err != nil {
		return err
	}
	defer held.Close()
	s := &Session{layout: l, options: options, console: c}
	// Registered first, because the default action would end the supervisor.
	refresh := make(chan os.Signal, 1)
	signal.Notify(refresh, syscall.SIGUSR1)
	if err := node.Clean(l); err != nil {
		c.Warn("removing what an earlier run left: %v", err)
	}
	if err := os.MkdirAll(l.Path("run"), 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop(err)) }()
	s.setState(Starting, "")
	if err := s.start(ctx); err != nil {
		if ctx.Err() != nil { // Ctrl-C during the start is no error
			return nil
		}
		return err
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

// refresh also runs at SIGUSR1 of `up` and `deploy`. A broken manifest does not stop the cluster, so that you can fix it.
func (s *Session) refresh(ctx context.Context) {
	message := ""
	if err := s.applyAll(ctx); err != nil && ctx.Err() == nil {
		message = err.Error()
		s.console.Warn("%s", message)
	}
	s.state.Serial++
	s.setState(Ready, message)
}

func (s *Session) start(ctx context.Context) error {
	begin := time.Now()
	for _, start := range []func(context.Context) error{s.prepare, s.startStores, s.startControlPlane} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return s.startNode(ctx, begin)
}

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
	if err := s.issue(); err != nil {
		return err
	}
	return s.writeEnv()
}

// putAside renames unusable data, because you may need it.
func (s *Session) putAside(name string) error {
	data := s.layout.Path(name)
	if _, err := os.Stat(data); err != nil {
		return nil
	}
	return errors.Join(os.RemoveAll(data+".old"), os.Rename(data, data+".old"))
}

func (s *Session) startStores(ctx context.Context) error {
	return s.console.Step("etcd and store", func(*console.Step) (string, error) {
		store := s.keep(s.store())
		if s.options.Node {
			s.keep(node.Containerd(s.layout, s.tools))
		}
		if err := s.startEtcd(ctx); err != nil {
			return "", err
		}
		return "http://" + s.plan.Loopback(layout.PortStore), store.WaitReady(ctx, startWithin)
	})
}

func (s *Session) startControlPlane(ctx context.Context) error {
	err := s.console.Step("API server", func(*console.Step) (string, error) {
		return s.server(), s.keep(s.apiserver()).WaitReady(ctx, startWithin)
	})
	if err != nil {
		return err
	}
	err = s.console.Step("controllers", func(*console.Step) (string, error) {
		s.keep(s.scheduler())
		return "controller-manager, scheduler", s.keep(s.controllerManager()).WaitReady(ctx, startWithin)
	})
	if err != nil {
		return err
	}
	return s.forward()
}

// startEtcd starts with empty data if the old ones are unusable, as they may be after a crash of the machine: etcd does not sync here.
func (s *Session) startEtcd(ctx context.Context) error {
	etcd := s.keep(s.etcd())
	err := etcd.WaitReady(ctx, startWithin)
	if !errors.Is(err, proc.ErrCrashed) {
		return err
	}
	etcd.Stop()
	s.children = slices.DeleteFunc(s.children, func(c *proc.Child) bool { return c == etcd })
	if err := s.putAside("etcd"); err != nil {
		return err
	}
	s.console.Warn("etcd cannot start from its data. They are now in %s.old, and the cluster starts empty.\n%v", s.layout.Path("etcd"), err)
	return s.keep(s.etcd()).WaitReady(ctx, startWithin)
}

func (s *Session) startNode(ctx context.Context, begin time.Time) error {
	if !s.options.Node {
		return nil
	}
	return s.console.Step("node", func(step *console.Step) (string, error) {
		kubelet := s.keep(node.Kubelet(s.layout, s.plan, s.nodeReady(begin)))
		services, err := s.startServices(ctx)
		if err != nil {
			return "", err
		}
		// Images first, because a pod without its image retries late.
		step.Update("building and loading images")
		if err := s.loadImages(ctx); err != nil {
			return "", err
		}
		step.Update("waiting for the kubelet")
		for _, child := range append(services, kubelet) {
			if err := child.WaitReady(ctx, startWithin); err != nil {
				return "", err
			}
		}
		return node.Name + ", pods in " + s.plan.PodCIDR() + ", Services in " + s.plan.ServiceCIDR(), nil
	})
}

// stop ends dependent parts first. A second Ctrl-C ends the supervisor at once, and the next start cleans up.
func (s *Session) stop(cause error) error {
	if cause != nil {
		s.setState(Failed, cause.Error())
	} else {
		s.setState(Stopping, "")
	}
	return s.console.Step("stopping", func(*console.Step) (string, error) {
		_ = s.podProxy.Close()
		if s.held != nil {
			defer s.held.Close() // when no other port is in use
		}
		s.stopForwardingService()
		for _, group := range [][]string{
			{"manager"},
			{"kubelet", "kube-scheduler", "kube-controller-manager"},
			{"containerd", "kube-apiserver", "kube-proxy", "coredns"},
			{"etcd", "store"},
		} {
			s.stopGroup(group)
		}
		if err := node.Clean(s.layout); err != nil {
			return "", fmt.Errorf("removing what pods have left: %w", err)
		}
		return "everything has ended", nil
	})
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

// summary prints what you need next, ready to paste.
func (s *Session) summary() {
	c := s.console
	line := func(name, format string, args ...any) {
		c.Println("  %s  %s", c.Dim(fmt.Sprintf("%-11s", name)), fmt.Sprintf(format, args...))
	}
	env := s.layout.Path("env")
	c.Println("\n  %s\n", c.Bold("Postflight is ready."))
	line("URL", "%s", s.url())
	line("run pages", "%s  (opens with the API key filled in)", s.signInURL())
	line("API key", "%s", s.secrets.APIKey)
	line("", "with it, CI pipelines of the Team %q send notifications (only this cluster accepts it)", team)
	line("kubeconfig", "%s", s.layout.Kubeconfig("admin"))
	if s.options.Node {
		line("demo shop", "%s", s.demoURL())
	}
	line("store", "http://%s, bucket %s", s.plan.Loopback(layout.PortStore), bucket)
	line("variables", ". %s  (sets these for your shell, and puts postflight on PATH, and kubectl if you have none)", env)
	if ReadMode(s.layout) == ModeNone {
		c.Println("\n  No manager runs here. Start one with the variables of %s.\n", s.layout.Path("manager.env"))
	} else {
		c.Println("\n  Report a deployment:\n\n%s\n", s.curl())
		c.Println("  and watch the run:\n\n    %s --kubeconfig %s get suites -n demo --watch\n",
			s.layout.Bin("cluster", "kubectl"), s.layout.Kubeconfig("admin"))
	}
	if !s.options.Node {
		c.Warn("There is no node, so the pods of runs never start. A node needs Linux and root.")
		c.Warn("To install Postflight in a cluster that you have: KUBECONFIG=... kubectl apply -k config/default")
	}
}

// signInURL opens the page for signing in to the run pages with the key filled in. Browsers do not send what follows #.
func (s *Session) signInURL() string { return s.url() + "/sign-in#key=" + s.secrets.APIKey }

func (s *Session) curl() string {
	return fmt.Sprintf(`    curl -sS %s/api/webhooks/deploy_success \
      -H "Authorization: Bearer %s" -H 'Content-Type: application/json' \
      -d '{"branch":"main","sha":"%s","deployment_type":"staging"}'`, s.url(), s.secrets.APIKey, random(20))
}
