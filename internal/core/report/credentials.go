package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// The keys of a Secret with credentials. Flux and Argo CD use the same for an App.
const (
	keyToken          = "token"
	keyAppID          = "githubAppID"
	keyInstallationID = "githubAppInstallationID"
	keyPrivateKey     = "githubAppPrivateKey"
)

// Credentials are a token, or a GitHub App.
type Credentials struct {
	Token string

	AppID          int64
	InstallationID int64 // 0: the installation of the repository
	PrivateKey     []byte
}

// IsApp reports whether they are a GitHub App, which alone can write check runs.
func (c Credentials) IsApp() bool { return c.AppID != 0 }

// Key identifies the credentials without revealing them.
func (c Credentials) Key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %d %q", c.Token, c.AppID, c.InstallationID, c.PrivateKey))
	return hex.EncodeToString(sum[:])
}

// ParseToken reads a token. The problem is a clause without the token.
func ParseToken(text []byte) (c Credentials, problem string) {
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return c, "it holds no token: it is empty, or has white space or other characters than ASCII"
	}
	return Credentials{Token: token}, ""
}

// ParseSecret reads credentials. The problem is a clause that says what the Secret lacks, without what it has.
func ParseSecret(service v1alpha1.HostingService, data map[string][]byte) (c Credentials, problem string) {
	_, hasApp := data[keyAppID]
	token, hasToken := data[keyToken]
	switch {
	case hasToken:
		if c, problem = ParseToken(token); problem != "" {
			problem = "of its key token, " + problem
		}
		return c, problem
	case service == v1alpha1.GitHub && hasApp:
		return parseApp(data)
	case service == v1alpha1.GitHub:
		return c, "it has neither the key token nor the keys githubAppID and githubAppPrivateKey"
	default:
		return c, "it has no key token"
	}
}

func parseApp(data map[string][]byte) (c Credentials, problem string) {
	number := func(key string) (n int64) {
		n, err := strconv.ParseInt(strings.TrimSpace(string(data[key])), 10, 64)
		if err != nil || n < 1 {
			problem = fmt.Sprintf("its key %s is not a positive number", key)
		}
		return n
	}
	c.AppID, c.PrivateKey = number(keyAppID), data[keyPrivateKey]
	if _, has := data[keyInstallationID]; has {
		c.InstallationID = number(keyInstallationID)
	}
	if len(c.PrivateKey) == 0 {
		problem = "it has no key githubAppPrivateKey"
	}
	if problem != "" {
		return Credentials{}, problem
	}
	return c, ""
}
