package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/postflight-dev/postflight/hack/dev/internal/images"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

const team = "demo"

type variable struct{ name, value string }

type variables []variable

func (v variables) list() []string {
	entries := make([]string, 0, len(v))
	for _, one := range v {
		entries = append(entries, one.name+"="+one.value)
	}
	return entries
}

// shell returns a file to source.
func (v variables) shell(comment string) []byte {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n", comment)
	for _, one := range v {
		fmt.Fprintf(&text, "export %s=%s\n", one.name, quote(one.value))
	}
	return []byte(text.String())
}

// userVariables are for your shell and for tests.
func (s *Session) userVariables() variables {
	return variables{
		{"KUBECONFIG", s.layout.Kubeconfig("admin")},
		{"POSTFLIGHT_KUBECTL", s.layout.Bin("cluster", "kubectl")},
		{"POSTFLIGHT_URL", s.url()},
		{"POSTFLIGHT_UI_URL", s.url()},
		{"POSTFLIGHT_API_KEY", s.secrets.APIKey},
		{"POSTFLIGHT_METRICS_URL", "http://" + s.plan.Loopback(layout.PortMetrics) + "/metrics"},
		{"POSTFLIGHT_PROBES_URL", "http://" + s.plan.Loopback(layout.PortProbes)},
		{"POSTFLIGHT_BRIDGE_ADDRESS", s.podHost()},
		{"S3_ENDPOINT", "http://" + s.plan.Loopback(layout.PortStore)},
		{"S3_BUCKET", bucket},
		{"DEMO_URL", s.demoURL()},
	}
}

// managerVariables are the manager's environment. Tests that start managers read them from DIR/manager.env.
func (s *Session) managerVariables() variables {
	return variables{
		{"AWS_ACCESS_KEY_ID", s.secrets.StoreID},
		{"AWS_SECRET_ACCESS_KEY", s.secrets.StoreSecret},
		{"POSTFLIGHT_STORE_ENDPOINT", "http://" + s.forPods(layout.PortStore)},
		{"POSTFLIGHT_STORE_PUBLIC_ENDPOINT", "http://" + s.plan.Loopback(layout.PortStore)},
		{"POSTFLIGHT_STORE_BUCKET", bucket},
		{"POSTFLIGHT_STORE_REGION", "us-east-1"},
		{"POSTFLIGHT_POD_URL", "http://" + s.forPods(layout.PortAPI)},
		{"POSTFLIGHT_IMAGE", strings.TrimPrefix(images.Product, "docker.io/")},
	}
}

func (s *Session) writeEnv() error {
	comment := "Source this: `. " + s.layout.Path("env") + "`. Written at every start of the development cluster."
	if err := s.linkCommands(); err != nil {
		return err
	}
	content := append(s.userVariables().shell(comment), s.commandsOnPath()...)
	if err := layout.WriteFile(s.layout.Path("env"), content, 0o600); err != nil {
		return err
	}
	comment = "The manager's environment, to start one by hand with --kubeconfig=" + s.layout.Kubeconfig("manager")
	return layout.WriteFile(s.layout.Path("manager.env"), s.managerVariables().shell(comment), 0o600)
}

// commands are programs of bin/ for your shell, by the name that they have there.
var commands = map[string]string{"postflight": "postflight", "kubectl-postflight": "postflight"}

// linkCommands fills a folder for PATH, because bin/ has programs with common names.
func (s *Session) linkCommands() error {
	if err := os.MkdirAll(s.layout.Path("path"), 0o755); err != nil {
		return err
	}
	for name, program := range commands {
		link := s.layout.Path("path", name)
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Symlink(s.layout.Bin(program), link); err != nil {
			return err
		}
	}
	return nil
}

// commandsOnPath puts them before others of their names, and adds the cluster's own kubectl if there is no other.
func (s *Session) commandsOnPath() string {
	return fmt.Sprintf("case \":$PATH:\" in *:%[1]s:*) ;; *) export PATH=%[1]s:\"$PATH\" ;; esac\n", quote(s.layout.Path("path"))) +
		fmt.Sprintf("command -v kubectl >/dev/null || export PATH=\"$PATH\":%s\n", quote(s.layout.Bin("cluster")))
}

func quote(value string) string { return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'" }

func (s *Session) url() string    { return "http://" + s.plan.Loopback(layout.PortAPI) }
func (s *Session) server() string { return "https://" + s.plan.Loopback(layout.PortAPIServer) }

// forPods is the address of a port for pods, or on loopback if there is no node.
func (s *Session) forPods(port int) string {
	if s.options.Node {
		return s.plan.OnBridge(port)
	}
	return s.plan.Loopback(port)
}

func (s *Session) podHost() string {
	if s.options.Node {
		return s.plan.BridgeIP()
	}
	return "127.0.0.1"
}

func (s *Session) demoURL() string { return "http://" + s.forPods(layout.PortDemo) }
