package session

import (
	"bytes"
	"context"
	_ "embed"
	"text/template"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

//go:embed dns.yaml
var dnsManifest string

var dnsTemplate = template.Must(template.New("dns").Parse(dnsManifest))

// startServices starts what makes cluster IPs and names of Services work.
func (s *Session) startServices(ctx context.Context) ([]*proc.Child, error) {
	services := []*proc.Child{s.keep(node.Proxy(s.layout, s.plan, s.tools, s.enterRouter, httpClient{}.get))}
	if !s.options.DNS {
		return services, nil
	}
	if err := s.applyDNS(ctx); err != nil {
		return nil, err
	}
	return append(services, s.keep(node.DNS(s.layout, s.plan, s.enterRouter, httpClient{}.get))), nil
}

func (s *Session) applyDNS(ctx context.Context) error {
	var manifest bytes.Buffer
	err := dnsTemplate.Execute(&manifest, map[string]string{"ClusterIP": s.plan.DNSIP(), "Address": s.plan.ServiceRouterIP()})
	if err != nil {
		return err
	}
	file := s.layout.Path("dns.yaml")
	if err := layout.WriteFile(file, manifest.Bytes(), 0o644); err != nil {
		return err
	}
	return s.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--field-manager=postflight-dev", "-f", file)
}
