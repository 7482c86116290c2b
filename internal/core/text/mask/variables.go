package mask

import (
	"regexp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

var (
	// secretName matches names of variables whose values people expect to be secret.
	secretName = regexp.MustCompile(
		`(?i)token|secret|passw|pwd|credential|private|api_?key|access_?key|auth($|[^o]|oriz)|cookie|session|signature`)

	// secretValue matches credentials of GitHub, GitLab, Slack, AWS, Google, Stripe, npm and Postflight, JSON Web Tokens, and private keys.
	secretValue = regexp.MustCompile(
		`\b(gh[pousr]_\w{20,}|github_pat_\w{20,}|gl[a-z]{2,6}-[\w-]{20,}|xox[a-z]-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}` +
			`|AIza[\w-]{35}|[sr]k_live_\w{16,}|npm_\w{36}|pf_([a-z0-9][-a-z0-9]{0,62}_)?[0-9A-Za-z]{38,40}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)|-----BEGIN [A-Z ]*PRIVATE KEY-----`)

	password = regexp.MustCompile(`(://[^\s/?#:@]*:)[^\s/?#]+@`)
)

const mask = "***"

// Variables returns a copy without secrets, which should not be there: anyone who can read Suites can read them, and a record lives longer.
func Variables(all v1alpha1.Variables) v1alpha1.Variables {
	if all == nil {
		return nil
	}
	masked := make(v1alpha1.Variables, len(all))
	for name, value := range all {
		if isSecret(name, value) {
			value = mask
		}
		masked[name] = password.ReplaceAllString(value, "${1}"+mask+"@")
	}
	return masked
}

func isSecret(name, value string) bool {
	return value != "" && (secretName.MatchString(name) || secretValue.MatchString(value))
}
