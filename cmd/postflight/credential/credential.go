// Package credential finds what identifies a command to the server: an API key, or a short-lived token of the place where it runs.
package credential

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/core/access/jwt"
	"github.com/postflight-dev/postflight/internal/core/deployment/ci"
	"github.com/postflight-dev/postflight/internal/core/text/serverurl"
)

const (
	// DefaultTokenFile is where the shipped recipes mount the token of a ServiceAccount.
	DefaultTokenFile = "/var/run/secrets/postflight/token"

	defaultAudience = "postflight"
	maxAudience     = 256 // bytes; issuers allow no longer ones
	maxToken        = jwt.MaxBytes
)

// Credential identifies a command.
type Credential struct {
	client.TokenSource
	From string // completes "with"
	Key  bool   // it is an API key, and no token that expires
}

// Machine is where a command runs.
type Machine struct {
	Getenv    ci.Getenv
	TokenFile string // that is used if it exists
	Now       func() time.Time
	HTTP      *http.Client
	Program   func(name string) (path string, err error) // looks for a program on the PATH
}

// ThisMachine is where this command runs.
func ThisMachine() Machine {
	// A redirect would take the request token of the CI system to another host.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return Machine{
		Getenv: os.Getenv, TokenFile: DefaultTokenFile, Now: time.Now, Program: exec.LookPath,
		HTTP: &http.Client{Timeout: 30 * time.Second, CheckRedirect: stay},
	}
}

// Find returns the first credential that exists: an API key, a token in a file, a token in a variable, or a token from the CI system.
func (m Machine) Find() (*Credential, error) {
	key, from, err := apiKey(m.Getenv)
	if err != nil {
		return nil, err
	}
	if key != "" {
		return &Credential{fixed(key), "the API key in " + from, true}, nil
	}
	audience, err := m.audience()
	if err != nil {
		return nil, err
	}
	for _, find := range []func(audience string) (*Credential, error){m.file, m.variable, m.actions, m.program} {
		if c, err := find(audience); c != nil || err != nil {
			return c, err
		}
	}
	return nil, errors.New("there is no credential. " + strings.TrimSuffix(ci.TokenAdvice(m.Getenv, audience), "."))
}

// apiKey reads the key from the environment, or from the file that the environment names, and says which of them it was. Without
// either, the key is empty.
func apiKey(getenv ci.Getenv) (key, from string, err error) {
	from = "POSTFLIGHT_API_KEY"
	key = strings.TrimSpace(getenv(from))
	if path := getenv("POSTFLIGHT_API_KEY_FILE"); key == "" && path != "" {
		content, err := readFile(path)
		if err != nil {
			return "", "", fmt.Errorf("the API key in POSTFLIGHT_API_KEY_FILE: %w", err)
		}
		key, from = strings.TrimSpace(content), path
		if key == "" {
			return "", "", fmt.Errorf("the file %s, which POSTFLIGHT_API_KEY_FILE names, has no API key: it is empty", path)
		}
	}
	if apikey.Mistyped(key) {
		return "", "", fmt.Errorf("the API key in %s was mistyped or cut: its checksum does not match. Copy it again, or make another one", from)
	}
	return key, from, nil
}

func (m Machine) audience() (string, error) {
	audience := cmp.Or(m.Getenv("POSTFLIGHT_AUDIENCE"), defaultAudience)
	if len(audience) > maxAudience || !printable(audience) {
		return "", fmt.Errorf("POSTFLIGHT_AUDIENCE is no audience: it has to be one word of at most %d characters, such as %s",
			maxAudience, defaultAudience)
	}
	return audience, nil
}

// variable is the token that a pipeline puts into the environment. Nothing can renew it.
func (m Machine) variable(string) (*Credential, error) {
	const name = "POSTFLIGHT_ID_TOKEN"
	token := strings.TrimSpace(m.Getenv(name))
	if token == "" {
		return nil, nil
	}
	if err := check(token, name); err != nil {
		return nil, err
	}
	return m.credential(fixed(token), "the token in "+name), nil
}

func (m Machine) credential(source client.TokenSource, from string) *Credential {
	return &Credential{&explained{source, from, m.Now}, from, false}
}

// AllowsHTTP reports whether the user trusts the network between here and the server.
func (m Machine) AllowsHTTP() bool {
	allowed, err := strconv.ParseBool(m.Getenv("POSTFLIGHT_ALLOW_HTTP"))
	return err == nil && allowed
}

// fixed never changes.
type fixed string

func (t fixed) Token(context.Context, string) (string, error) { return string(t), nil }

// InTheClear reports whether requests to the server leave this machine without TLS.
func InTheClear(address string) bool {
	u, err := url.Parse(address)
	return err == nil && serverurl.InTheClear(u)
}
