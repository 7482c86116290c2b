package serviceaccount

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/access/jwt"
)

const (
	// Audience of the tokens with which ServiceAccounts send requests. The tokens that collectors of runs have are for another one.
	Audience = "postflight"

	// clockSlack is how far the clocks of this machine and the API server may differ.
	clockSlack = 5 * time.Minute

	subjectPrefix = "system:serviceaccount:"
)

// Claims are what a token says of itself. They are not checked.
type Claims struct {
	Algorithm string
	Issuer    string
	Subject   string
	Audience  []string
	Expires   time.Time // zero: never
	Bound     bool      // it has the claim that the API server gives the tokens that it issues
}

// Unverified returns the claims of a JSON Web Token, if each of them has the type that the API server gives it.
func Unverified(token string) (Claims, bool) {
	header, isHeader := jwt.Header(token)
	claims, areClaims := jwt.Claims(token)
	hasSignature := !strings.HasSuffix(token, ".")
	algorithm, goodAlgorithm := header.Text("alg")
	issuer, goodIssuer := claims.Text("iss")
	subject, goodSubject := claims.Text("sub")
	audience, goodAudience := claims.Audiences()
	expires, goodExpiry := claims.Seconds("exp")
	kubernetes := claims.Kind("kubernetes.io")
	if !isHeader || !areClaims || !hasSignature || !goodAlgorithm || !goodIssuer || !goodSubject || !goodAudience || !goodExpiry ||
		kubernetes != 0 && kubernetes != '{' {
		return Claims{}, false
	}
	c := Claims{Algorithm: algorithm, Issuer: issuer, Subject: subject, Audience: audience, Bound: kubernetes == '{'}
	if expires > 0 {
		c.Expires = time.Unix(int64(min(expires, math.MaxInt32*2)), 0)
	}
	return c, true
}

// signed reports whether the token claims to be signed.
func (c Claims) signed() bool { return c.Algorithm != "" && c.Algorithm != "none" }

// For reports whether the token claims to be for one of the audiences.
func (c Claims) For(audiences ...string) bool {
	return slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(c.Audience, a) })
}

// Expired reports whether the token has certainly expired. One without an end counts as expired: the API server gives every token one.
func (c Claims) Expired(now time.Time) bool { return !c.Expires.After(now.Add(-clockSlack)) }

// MayBeGood reports whether a token claims to be signed, unexpired, and for one of the audiences: others are refused without asking
// the API server.
func (c Claims) MayBeGood(now time.Time, audiences ...string) bool {
	return c.signed() && c.For(audiences...) && !c.Expired(now)
}

// Account returns the ServiceAccount that the token claims to be of.
func (c Claims) Account() (namespace, name string, ok bool) { return account(c.Subject) }

// account takes the name that Kubernetes gives a ServiceAccount as a user.
func account(user string) (namespace, name string, ok bool) {
	rest, isAccount := strings.CutPrefix(user, subjectPrefix)
	namespace, name, complete := strings.Cut(rest, ":")
	if !isAccount || !complete || namespace == "" || name == "" || strings.Contains(name, ":") {
		return "", "", false
	}
	return namespace, name, true
}
