package session

import (
	"fmt"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

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
