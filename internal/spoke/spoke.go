// Package spoke sends requests to the Postflights of other clusters, for the hub that this one is to them.
package spoke

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/propagation"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/core/text/serverurl"
	"github.com/postflight-dev/postflight/internal/core/text/version"
)

// Config is what Clients need.
type Config struct {
	// Cluster returns a Cluster, or nil if there is none of the name.
	Cluster func(ctx context.Context, name string) (*v1alpha1.Cluster, error)
	// Token returns a token of the hub's own ServiceAccount.
	Token func(ctx context.Context, audience string) (string, error)
	// Keys is the folder with the files CLUSTER.TEAM; empty: there are none.
	Keys string
	// Hub names this Postflight in the audit lines of clusters.
	Hub string
	// HTTP returns a client that trusts the roots; nil: those of the system. It follows no redirects.
	HTTP func(roots *x509.CertPool) *http.Client
}

// Clients send requests to clusters. Each cluster has connections of its own, so that one that hangs takes none from others.
type Clients struct {
	Config
	mu        sync.Mutex
	byCluster map[string]connections
}

type connections struct {
	digest [sha256.Size]byte // of the address and the authorities
	client *http.Client
}

// New returns Clients, which connect when they are needed.
func New(c Config) *Clients { return &Clients{Config: c, byCluster: map[string]connections{}} }

// Do sends a request to a cluster: its URL is the path and the query there. Errors are *delegation.Errors.
func (c *Clients) Do(ctx context.Context, cluster string, command delegation.Command, r *http.Request) (*http.Response, error) {
	spec, err := c.lookUp(ctx, cluster, command.Team.Name)
	if err != nil {
		return nil, err
	}
	r = r.Clone(ctx)
	if err := c.address(ctx, r, cluster, spec, command); err != nil {
		return nil, err
	}
	client, err := c.connect(cluster, spec)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, &delegation.Error{Message: "does not answer", Cause: withoutURL(err)}
	}
	if problem := refusalOf(resp, cluster, command.Team.Name, spec); problem != nil {
		drop(resp.Body)
		return nil, problem
	}
	return resp, nil
}

// lookUp returns the Cluster if the Team may use it.
func (c *Clients) lookUp(ctx context.Context, name, team string) (*v1alpha1.ClusterSpec, error) {
	cluster, err := c.Cluster(ctx, name)
	switch {
	case err != nil:
		return nil, &delegation.Error{Message: "cannot be looked up at the moment", Cause: err}
	case cluster == nil || cluster.DeletionTimestamp != nil:
		return nil, &delegation.Error{Refused: true, Message: "is not known here: there is no Cluster of that name. Ask the operator of this " +
			"service to create it, or correct spec.cluster of the Environment"}
	case !grant.Matches(cluster.Spec.Teams, team):
		return nil, &delegation.Error{Refused: true, Message: fmt.Sprintf("is not for the Team %s. Ask the operator of this service to add it "+
			"to spec.teams of the Cluster", team)}
	}
	if err := serverurl.Check(cluster.Spec.URL, "credentials are sent there"); err != nil {
		return nil, &delegation.Error{Refused: true, Message: fmt.Sprintf("cannot be asked: spec.url of the Cluster %v", err)}
	}
	return &cluster.Spec, nil
}

func (c *Clients) address(
	ctx context.Context, r *http.Request, cluster string, spec *v1alpha1.ClusterSpec, command delegation.Command,
) error {
	target, err := url.Parse(publicurl.Join(spec.URL, r.URL.EscapedPath()))
	if err != nil {
		return &delegation.Error{Refused: true, Message: "cannot be asked: spec.url of the Cluster is no URL"}
	}
	target.RawQuery = r.URL.RawQuery
	r.URL, r.Host, r.RequestURI = target, "", ""
	token, err := c.credential(ctx, cluster, spec, command.Team.Name)
	if err != nil {
		return err
	}
	command.Delegation.Hub = c.Hub
	value, err := command.Delegation.Encode()
	if err != nil {
		return &delegation.Error{Refused: true, Message: "cannot be asked: " + err.Error()}
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Postflight-Team": command.Team.Name, "X-Request-Id": command.RequestID,
		"User-Agent": version.UserAgent("hub"), delegation.Header: value,
	} {
		r.Header.Set(name, value)
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	return nil
}

func (c *Clients) credential(ctx context.Context, cluster string, spec *v1alpha1.ClusterSpec, team string) (string, error) {
	if spec.Credential != v1alpha1.ClusterKey {
		token, err := c.Token(ctx, spec.TokenAudience())
		if err != nil {
			return "", &delegation.Error{Message: "cannot be asked: this cluster's API server issues no token for it at the moment", Cause: err}
		}
		return token, nil
	}
	missing := &delegation.Error{Refused: true, Message: fmt.Sprintf("cannot be asked: there is no file %s.%s with an API key in the folder "+
		"of --cluster-keys. Ask the operator of this service", cluster, team)}
	if c.Keys == "" {
		return "", missing
	}
	key, err := os.ReadFile(filepath.Join(c.Keys, cluster+"."+team))
	if err != nil || len(key) > maxKey {
		missing.Cause = err
		return "", missing
	}
	return strings.TrimSpace(string(key)), nil
}

// maxKey bounds the file of an API key, in bytes: keys have 45.
const maxKey = 1 << 10

// connect returns the client of a cluster, and another one once its address or its authorities are others.
func (c *Clients) connect(name string, spec *v1alpha1.ClusterSpec) (*http.Client, error) {
	digest := sha256.Sum256([]byte(spec.URL + "\x00" + spec.CA))
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.byCluster[name]
	if known.client != nil && known.digest == digest {
		return known.client, nil
	}
	var roots *x509.CertPool
	if spec.CA != "" {
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(spec.CA)) {
			return nil, &delegation.Error{Refused: true, Message: "cannot be asked: spec.ca of the Cluster has no certificate in PEM"}
		}
	}
	if known.client != nil {
		known.client.CloseIdleConnections()
	}
	c.byCluster[name] = connections{digest, c.HTTP(roots)}
	return c.byCluster[name].client, nil
}

// refusalOf returns an error if the answer is about the hub, not about its request.
func refusalOf(resp *http.Response, cluster, team string, spec *v1alpha1.ClusterSpec) error {
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		what := fmt.Sprintf("the file %s.%s has no valid API key", cluster, team)
		if spec.Credential != v1alpha1.ClusterKey {
			what = fmt.Sprintf("it must list the issuer of this hub's tokens with the audience %s", spec.TokenAudience())
		}
		return &delegation.Error{Refused: true, Message: fmt.Sprintf("does not let this hub in: %s. Ask the operator of this service", what)}
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return &delegation.Error{Refused: true, Message: "answers with a redirect. Correct spec.url of the Cluster"}
	case resp.StatusCode == http.StatusBadGateway || resp.StatusCode == http.StatusGatewayTimeout:
		return &delegation.Error{Message: "does not answer", Cause: fmt.Errorf("its proxy answers %s", resp.Status)}
	default:
		return nil
	}
}

// withoutURL drops the address, which people with an audit line need not see.
func withoutURL(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	return err
}

// drop reads the rest of a short answer, so that the connection can be used again.
func drop(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxProblem)
	_ = body.Close()
}

const (
	// maxProblem bounds an answer with an error, and maxAnswer an answer to a notification, in bytes: the explanations of 1,000 Triggers have
	// 2 MiB.
	maxProblem = 64 << 10
	maxAnswer  = 8 << 20
	maxShown   = 512 // of a problem, in bytes
)

// newRequest returns a request for Do.
func newRequest(method, path string, query url.Values, body []byte) *http.Request {
	r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query.Encode()}, Header: http.Header{}}
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// shown is a sentence of a cluster, without its full stop.
func shown(sentence string) string {
	return strings.TrimSuffix(cmp.Or(plaintext.Line(sentence, maxShown), "gave no reason"), ".")
}
