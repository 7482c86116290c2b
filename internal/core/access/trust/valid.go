package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	// Skew is how far the clocks of an issuer and this machine may differ. Both follow NTP; tokens of GitHub live five minutes.
	Skew = time.Minute

	// maxAge bounds how long a token may live. Tokens of CI systems live for minutes or hours, GitLab's as long as the job may
	// take. What has to live longer should be a key, which can be listed and revoked.
	maxAge = 24 * time.Hour

	// DefaultAudience is what tokens for Postflight are issued for.
	DefaultAudience = "postflight"
)

// Problem returns what is wrong with the standard claims of a token whose signature is good, as a sentence for its sender, or "".
func (c *Claims) Problem(issuer string, audiences []string, now time.Time) string {
	if c.String("iss") != issuer {
		return "The token was signed by another issuer than it names."
	}
	if !intersects(c.audiences(), audiences) {
		return fmt.Sprintf("The token is for the audience %s. Ask the CI system for one for %s.",
			show(c.text["aud"]), strings.Join(audiences, " or "))
	}
	return c.timeProblem(now)
}

func (c *Claims) timeProblem(now time.Time) string {
	expires, hasExpiry := c.object.Time("exp")
	issued, hasIssue := c.object.Time("iat")
	begins, goodBegin := c.object.Time("nbf")
	switch {
	case !hasExpiry || !hasIssue || c.has("nbf") && !goodBegin:
		return "The token does not say when it was issued and when it expires, in seconds since 1970 (iat, exp, nbf)."
	case !now.Before(expires.Add(Skew)):
		return fmt.Sprintf("The token expired %s. Ask the CI system for another one just before you send it.", plaintext.Ago(expires, now))
	case now.Add(Skew).Before(issued) || now.Add(Skew).Before(begins):
		return "The token is not valid yet. Is the clock of the machine that sent it, or of its issuer, wrong?"
	case expires.Sub(issued) > maxAge:
		return fmt.Sprintf("The token lives longer than %d hours, which is too long. Ask the CI system for one that lives shorter: "+
			"GitLab's live as long as the timeout of the job.", int(maxAge.Hours()))
	default:
		return ""
	}
}

func intersects(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// maxShown bounds a claim in a message. Names of branches and workflows may be longer, but then people do not read them.
const maxShown = 200

func show(text string) string { return plaintext.Line(text, maxShown) }
