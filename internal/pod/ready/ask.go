package ready

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-openapi/jsonpointer"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// NewClient returns a client that opens a connection for each request, so that each may reach another pod behind the address.
func NewClient(userAgent string) *http.Client {
	return &http.Client{
		Timeout: requestTimeout,
		Transport: named{userAgent, &http.Transport{
			DialContext:            (&net.Dialer{}).DialContext,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: maxHeader,
			ForceAttemptHTTP2:      true,
		}},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			req.URL.User = nil
			switch {
			case len(via) > maxRedirects:
				return errRedirects
			case !strings.EqualFold(req.URL.Hostname(), via[0].URL.Hostname()):
				return &elsewhereError{req.URL.Hostname()}
			}
			return nil
		},
	}
}

var errRedirects = fmt.Errorf("redirects more than %d times", maxRedirects)

// elsewhereError refuses a redirect to another host, as probes of Kubernetes do: an application must not make a pod ask servers that only
// the pod reaches, and show their answers.
type elsewhereError struct{ host string }

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("redirects to another host, %s, which is not asked", plaintext.Line(e.host, maxQuote))
}

// named says in each request, also after redirects, who asks.
type named struct {
	userAgent string
	http.RoundTripper
}

func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", n.userAgent)
	req.Header.Del("Referer")
	return n.RoundTripper.RoundTrip(req)
}

// ask returns what is wrong with one answer, as a clause about the URL, or "".
func (p *Probe) ask(ctx context.Context) (problem string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL.String(), http.NoBody)
	if err != nil {
		return "cannot be asked: " + clause(err)
	}
	req.Header.Set("Cache-Control", "no-cache") // proxies may have what was there before
	res, err := p.Client.Do(req)
	elsewhere, isElsewhere := errors.AsType[*elsewhereError](err)
	switch {
	case errors.Is(err, errRedirects):
		return errRedirects.Error()
	case isElsewhere:
		return elsewhere.Error()
	case err != nil:
		return "did not answer: " + clause(err)
	}
	defer res.Body.Close()
	if res.StatusCode != p.Status {
		return fmt.Sprintf("answered with status %d instead of %d", res.StatusCode, p.Status)
	}
	return p.compare(res)
}

// compare reads no more of an answer than it has to.
func (p *Probe) compare(res *http.Response) (problem string) {
	var has string
	switch {
	case p.Header != "":
		if has = strings.TrimSpace(res.Header.Get(p.Header)); has == "" {
			return "has no header " + p.Header
		}
	case p.Pointer != "":
		if has, problem = p.read(res.Body); problem != "" {
			return problem
		}
	default:
		return ""
	}
	if p.SHA != "" && !commit.SameSHA(p.SHA, has) {
		return fmt.Sprintf("said %q instead of %s", commit.ShortSHA(plaintext.Line(has, maxQuote)), p.wanted())
	}
	return ""
}

func (p *Probe) read(body io.Reader) (has, problem string) {
	text, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	switch {
	case err != nil:
		return "", "did not finish its answer: " + clause(err)
	case len(text) > maxBody:
		return "", fmt.Sprintf("answered with more than %s", plaintext.Bytes(maxBody))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return "", noJSON(text)
	}
	pointer, err := jsonpointer.New(p.Pointer)
	if err != nil {
		return "", "cannot be asked: " + clause(err)
	}
	value, _, err := pointer.Get(document)
	if err != nil {
		return "", "has nothing at " + p.Pointer
	}
	switch value := value.(type) {
	case string:
		return strings.TrimSpace(value), ""
	case json.Number:
		return value.String(), ""
	default:
		return "", "has neither a string nor a number at " + p.Pointer
	}
}

// noJSON quotes nothing: senders choose whom the pod asks, and more people see the message than may read what is there.
func noJSON(text []byte) string {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return "answered with nothing instead of JSON"
	case text[0] == '<':
		return "answered with HTML instead of JSON"
	default:
		return "answered with what is no JSON"
	}
}

// clause is why a request failed, without the URL.
func clause(err error) string {
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() {
		return fmt.Sprintf("it took longer than %s", plaintext.Duration(requestTimeout))
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return strings.TrimRight(plaintext.Line(err.Error(), 2*maxQuote), ". ")
}
