package signin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Config says who may sign in without an API key.
type Config struct {
	OIDC   *OIDCConfig  `json:"oidc,omitempty"`
	Proxy  *ProxyConfig `json:"proxy,omitempty"`
	Groups []Grant      `json:"groups,omitempty"`
}

// OIDCConfig is a client of an OpenID Connect provider.
type OIDCConfig struct {
	Name             string   `json:"name,omitempty"` // for the button; default: the host of the issuer
	Issuer           string   `json:"issuer"`
	ClientID         string   `json:"clientID"`
	ClientSecretFile string   `json:"clientSecretFile,omitempty"` // without it, the client is public
	Scopes           []string `json:"scopes,omitempty"`           // default: openid, email, groups
	NameClaim        string   `json:"nameClaim,omitempty"`        // default: email
	GroupsClaim      string   `json:"groupsClaim,omitempty"`      // default: groups
	// Recheck is how often to ask for the groups of a user who looks at pages: at least 1s, by default 10s.
	Recheck string `json:"recheck,omitempty"`

	recheck time.Duration
	secret  string
}

// ProxyConfig are the headers that a trusted proxy sets on each request.
type ProxyConfig struct {
	UserHeader   string   `json:"userHeader"`
	GroupsHeader string   `json:"groupsHeader"` // separated by commas
	From         []string `json:"from"`         // the networks of the proxy, such as 10.1.2.0/24; from others, the headers count for nothing

	from []netip.Prefix
}

// Grant lets the members of a group see a team.
type Grant struct {
	Group string `json:"group"`
	Team  string `json:"team"`
	Act   bool   `json:"act,omitempty"` // cancel and repeat runs, too
}

const (
	defaultRecheck = 10 * time.Second
	minRecheck     = time.Second
)

// load reads a Config from a YAML file.
func load(path string) (*Config, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, fmt.Errorf("%s: is empty", path) // it is about to be written
	}
	c := &Config{}
	if err := yaml.UnmarshalStrict(content, c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func (c *Config) complete() error {
	var errs []error
	for i, g := range c.Groups {
		if g.Group == "" || g.Team == "" {
			errs = append(errs, fmt.Errorf("groups[%d]: name a group and a team", i))
		}
	}
	if c.OIDC != nil {
		errs = append(errs, c.OIDC.complete())
	}
	if c.Proxy != nil {
		errs = append(errs, c.Proxy.complete())
	}
	return errors.Join(errs...)
}

func (c *OIDCConfig) complete() error {
	issuer, err := url.Parse(c.Issuer)
	if err != nil || issuer.Host == "" {
		return fmt.Errorf("oidc.issuer %q: must be a URL", c.Issuer)
	}
	if c.ClientID == "" {
		return errors.New("oidc.clientID: is missing")
	}
	c.Name, c.NameClaim, c.GroupsClaim = cmp.Or(c.Name, issuer.Hostname()), cmp.Or(c.NameClaim, "email"), cmp.Or(c.GroupsClaim, "groups")
	if len(c.Scopes) == 0 {
		c.Scopes = []string{"openid", "email", "groups"}
	}
	if c.recheck, err = time.ParseDuration(cmp.Or(c.Recheck, defaultRecheck.String())); err != nil || c.recheck < minRecheck {
		return fmt.Errorf("oidc.recheck %q: must be a duration of at least %s", c.Recheck, minRecheck)
	}
	if c.ClientSecretFile == "" {
		return nil
	}
	secret, err := os.ReadFile(c.ClientSecretFile)
	if err != nil {
		return fmt.Errorf("oidc.clientSecretFile: %w", err)
	}
	c.secret = strings.TrimRight(string(secret), "\r\n")
	return nil
}

func (c *ProxyConfig) complete() error {
	if c.UserHeader == "" || c.GroupsHeader == "" || len(c.From) == 0 {
		return errors.New("proxy: needs userHeader, groupsHeader and from, the networks of the proxy")
	}
	for _, text := range c.From {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("proxy.from: %w", err)
		}
		c.from = append(c.from, prefix)
	}
	return nil
}

// Person is an authenticated person.
type Person struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// teams returns a Grant for each team that a person may see, in the order of the configuration.
func (c *Config) teams(p Person) []Grant {
	var all []Grant
	for _, g := range c.Groups {
		if !slices.Contains(p.Groups, g.Group) {
			continue
		}
		i := slices.IndexFunc(all, func(other Grant) bool { return other.Team == g.Team })
		if i < 0 {
			all = append(all, g)
			continue
		}
		all[i].Act = all[i].Act || g.Act
	}
	return all
}
