package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/postflight-dev/postflight/internal/transfer"
)

// actions asks GitHub Actions for a token. A job that has the permission "id-token: write" gets a URL and a token for that.
func (m Machine) actions(audience string) (*Credential, error) {
	address, token := m.Getenv("ACTIONS_ID_TOKEN_REQUEST_URL"), m.Getenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
	if address == "" || token == "" {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, errors.New("ACTIONS_ID_TOKEN_REQUEST_URL is not a URL: GitHub sets it, so leave it alone")
	}
	if InTheClear(address) && !m.AllowsHTTP() {
		return nil, fmt.Errorf("ACTIONS_ID_TOKEN_REQUEST_URL would send the token of the job to %s over plain http. "+
			"Use https, or set POSTFLIGHT_ALLOW_HTTP=1 if you trust the network", u.Host)
	}
	if err := check(token, "ACTIONS_ID_TOKEN_REQUEST_TOKEN"); err != nil {
		return nil, err
	}
	separator := "&" // the URL has a query already, which stays as it is
	if u.RawQuery == "" {
		separator = ""
	}
	u.RawQuery += separator + url.Values{"audience": {audience}}.Encode()
	a := &actions{u, token, m.HTTP}
	return m.credential(&kept{request: a.request, now: m.Now}, "a token of GitHub Actions"), nil
}

type actions struct {
	url   *url.URL
	token string
	http  *http.Client
}

// issuerError is a CI system that gave no token.
type issuerError struct {
	text    string
	passing bool
}

func (e *issuerError) Error() string   { return e.text }
func (e *issuerError) Temporary() bool { return e.passing }

// request asks for one token. Its errors show neither the URL, nor the token, nor the answer, which might contain one.
func (a *actions) request(ctx context.Context) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url.String(), nil)
	if err != nil {
		return "", transfer.WithoutURL(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Accept", "application/json")
	from := "GitHub Actions at " + a.url.Host
	resp, err := a.http.Do(r)
	if err != nil {
		return "", &issuerError{fmt.Sprintf("%s gives no token: %v", from, transfer.WithoutURL(err)), ctx.Err() == nil}
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError:
		return "", &issuerError{fmt.Sprintf("%s gives no token at the moment: it answered %s", from, resp.Status), true}
	default:
		return "", &issuerError{text: fmt.Sprintf("%s gives no token: it answered %s. Check that the job has "+
			"\"permissions: {id-token: write}\", and has not ended; or set POSTFLIGHT_API_KEY", from, resp.Status)}
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, 8*maxToken))
	if err != nil {
		return "", &issuerError{fmt.Sprintf("%s broke off: %v", from, transfer.WithoutURL(err)), ctx.Err() == nil}
	}
	var answer struct {
		Value string `json:"value"`
	}
	if json.Unmarshal(content, &answer) != nil {
		return "", &issuerError{text: from + " sent something other than a token. " +
			"Check ACTIONS_ID_TOKEN_REQUEST_URL, which GitHub sets, and proxies"}
	}
	return answer.Value, check(answer.Value, "the answer of "+from)
}
