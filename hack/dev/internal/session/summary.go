package session

import (
	"fmt"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// summary is what a person needs next, ready to paste.
func (s *Session) summary() {
	c := s.console
	line := func(name, format string, args ...any) {
		c.Println("  %s  %s", c.Dim(fmt.Sprintf("%-11s", name)), fmt.Sprintf(format, args...))
	}
	env := s.layout.Path("env")
	c.Println("\n  %s\n", c.Bold("Postflight is ready."))
	line("URL", "%s", s.url())
	line("API key", "%s  (team %s)", s.secrets.APIKey, team)
	line("kubeconfig", "%s", s.layout.Kubeconfig("admin"))
	if s.options.Node {
		line("demo shop", "%s", s.demoURL())
	}
	line("store", "http://%s, bucket %s", s.plan.Loopback(layout.PortStore), bucket)
	line("all of it", ". %s  (and kubectl, for those who have none)", env)
	switch ReadMode(s.layout) {
	case ModeNone:
		c.Println("\n  No manager runs here; start one with the variables of %s.\n", s.layout.Path("manager.env"))
	default:
		c.Println("\n  Tell it about a deployment:\n\n%s\n", s.curl())
		c.Println("  and watch the run:\n\n    %s --kubeconfig %s get suites -n demo --watch\n",
			s.layout.Bin("cluster", "kubectl"), s.layout.Kubeconfig("admin"))
	}
	if !s.options.Node {
		c.Warn("There is no node: runs wait for pods that never start. A node needs Linux and root.")
		c.Warn("To use a cluster that you have: KUBECONFIG=... kubectl apply --server-side -k config/default")
	}
}

func (s *Session) curl() string {
	return fmt.Sprintf(`    curl -sS %s/api/webhooks/deploy_success \
      -H "Authorization: Bearer %s" -H 'Content-Type: application/json' \
      -d '{"branch":"main","sha":"%s","deployment_type":"staging"}'`, s.url(), s.secrets.APIKey, random(20))
}
