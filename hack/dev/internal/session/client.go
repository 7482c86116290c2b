package session

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/internal/node"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

// httpClient sends GET requests to the parts of the cluster.
type httpClient struct{ http *http.Client }

// direct uses no proxy: everything is on this machine.
var direct = &http.Client{Transport: &http.Transport{}}

// newClient uses a client certificate and trusts the given authority.
func newClient(authority, cert, key string) (httpClient, error) {
	pem, err := os.ReadFile(authority)
	if err != nil {
		return httpClient{}, err
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return httpClient{}, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return httpClient{&http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
	}}}, nil
}

// get returns a readiness check: the URL must answer 200.
func (c httpClient) get(url string) proc.Check {
	return func(ctx context.Context) error { return c.fetch(ctx, url, nil) }
}

// fetch decodes the answer into result, unless that is nil.
func (c httpClient) fetch(ctx context.Context, url string, result any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := cmp.Or(c.http, direct).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 300))
		return fmt.Errorf("%s answers %s: %s", url, response.Status, text)
	}
	if result == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(result)
}

// nodeReady returns a readiness check: the node accepts pods, and has reported so since this start.
func (s *Session) nodeReady(since time.Time) proc.Check {
	return func(ctx context.Context) error {
		var object struct {
			Spec struct {
				Taints []struct{ Key string }
			}
			Status struct {
				Conditions []struct {
					Type, Status, Message string
					LastHeartbeatTime     time.Time
				}
			}
		}
		if err := s.client.fetch(ctx, s.server()+"/api/v1/nodes/"+node.Name, &object); err != nil {
			return err
		}
		for _, taint := range object.Spec.Taints {
			return fmt.Errorf("the node has the taint %s", taint.Key)
		}
		for _, condition := range object.Status.Conditions {
			if condition.Type != "Ready" {
				continue
			}
			if condition.Status != "True" || condition.LastHeartbeatTime.Before(since.Truncate(time.Second)) {
				return fmt.Errorf("the node is not ready: %s", condition.Message)
			}
			return nil
		}
		return fmt.Errorf("the node has not reported yet")
	}
}
