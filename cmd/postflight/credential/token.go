package credential

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/access/jwt"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// earlier is how long before its end a token is replaced: a request may wait in a queue, and clocks differ.
const earlier = 30 * time.Second

// Claims are what a token says about itself. Nothing here verifies them.
type Claims struct {
	Issuer   string
	Subject  string
	Audience []string
	Expires  time.Time // zero: it does not say
}

// ClaimsOf reads a JSON Web Token.
func ClaimsOf(token string) (Claims, bool) {
	claims, ok := jwt.Claims(token)
	issuer, goodIssuer := claims.Text("iss")
	subject, goodSubject := claims.Text("sub")
	_, goodExpiry := claims.Seconds("exp")
	if !ok || !goodIssuer || !goodSubject || !goodExpiry {
		return Claims{}, false
	}
	c := Claims{Issuer: issuer, Subject: subject}
	c.Audience, _ = claims.Audiences()
	if expires, ok := claims.Time("exp"); ok && expires.Unix() > 0 {
		c.Expires = time.Unix(expires.Unix(), 0)
	}
	return c, true
}

// check returns an error for what cannot be a token. It never shows what it is.
func check(token, from string) error {
	switch {
	case token == "":
		return fmt.Errorf("%s has no token: it is empty", from)
	case len(token) > maxToken:
		return fmt.Errorf("%s has no token: it is longer than %d bytes", from, maxToken)
	case !printable(token):
		return fmt.Errorf("%s has no token: a token is one word of ASCII characters", from)
	default:
		return nil
	}
}

// printable reports whether the text is visible ASCII without spaces, as the value of a header has to be.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// kept is a source that asks for a token only if the last one expires or was refused.
type kept struct {
	request func(ctx context.Context) (string, error)
	now     func() time.Time

	mu    sync.Mutex // also held for a request, so that waits for several runs ask once
	token string
	until time.Time // zero: until it is refused
}

func (k *kept) Token(ctx context.Context, refused string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.token != "" && k.token != refused && (k.until.IsZero() || k.now().Before(k.until)) {
		return k.token, nil
	}
	token, err := k.request(ctx)
	if err != nil {
		return "", err
	}
	k.token, k.until = token, time.Time{}
	if c, ok := ClaimsOf(token); ok && !c.Expires.IsZero() {
		k.until = c.Expires.Add(-earlier)
	}
	return token, nil
}

// explained tells what a token that was refused says about itself.
type explained struct {
	client.TokenSource
	from string
	now  func() time.Time
}

func (e *explained) Explain(refused string) string {
	text := "The request was sent with " + e.from
	c, ok := ClaimsOf(refused)
	if !ok {
		return text + ", which is no JSON Web Token."
	}
	text += ", " + c.describe(e.now()) + "."
	if !c.Expires.IsZero() && !e.now().Before(c.Expires) {
		return text + " Get a new one, or check the clock of this machine."
	}
	return text + " If it should be accepted, ask your operator whether it trusts this issuer and audience."
}

// describe completes "the token".
func (c Claims) describe(now time.Time) string {
	const most = 200 // bytes of a claim; subjects of CI systems are shorter
	text := fmt.Sprintf("from the issuer %q for the audience %q with the subject %q",
		plaintext.Line(c.Issuer, most), plaintext.Line(strings.Join(c.Audience, ", "), most), plaintext.Line(c.Subject, most))
	left := c.Expires.Sub(now).Round(time.Second)
	switch {
	case c.Expires.IsZero():
		return text
	case left > 0:
		return fmt.Sprintf("%s, which expires in %s", text, left)
	default:
		return fmt.Sprintf("%s, which expired %s ago", text, -left)
	}
}
