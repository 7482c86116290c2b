// Command coredns is CoreDNS with only the plugins that the development cluster's DNS needs.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// In this order they see a request: template answers for the names that are none of Kubernetes'.
	dnsserver.Directives = []string{"errors", "ready", "kubernetes", "template"}
	coremain.Run()
}
