package main

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"

	announcecontroller "github.com/postflight-dev/postflight/controllers/announce"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/webhook"
)

// webhookOptions are the flags of webhooks and chats, whose addresses teams choose.
type webhookOptions struct {
	allowNetworks []string
	allowed       []netip.Prefix // as in the flag
}

func (o *webhookOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.allowNetworks, "webhook-allow-networks", nil,
		"private networks that webhooks and chats may be in, such as 10.20.0.0/16; all teams can then send requests there, also by http")
}

func (o *webhookOptions) validate() error {
	var errs []error
	for _, text := range o.allowNetworks {
		p, err := netip.ParsePrefix(text)
		if err != nil || p != p.Masked() || p.Addr().Is4In6() {
			errs = append(errs, fmt.Errorf("--webhook-allow-networks %q: must be a network, such as 10.20.0.0/16", text))
			continue
		}
		o.allowed = append(o.allowed, p)
	}
	return errors.Join(errs...)
}

func (o *webhookOptions) config(publicURL, clusterName string) announcecontroller.Config {
	client := outbound.Public(o.allowed)
	return announcecontroller.Config{
		Options: report.Options{PublicURL: publicURL, ClusterName: clusterName},
		Sender:  webhook.New(client), Chat: webhook.NewSlack(client, webhook.SlackAPI),
	}
}
