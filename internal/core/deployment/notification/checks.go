package notification

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// check returns a value as it is stored, or why it is invalid. The value is not empty.
type check func(value string) (stored, reason string)

// branch accepts what git does: no control characters.
func branch(value string) (string, string) {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return "", "must not hold control characters"
	}
	return value, tooLong(value, MaxBranchBytes)
}

// sha accepts any printable text, because not everything that is deployed is a commit.
func sha(value string) (string, string) {
	value = commit.NormalSHA(strings.TrimSpace(value))
	if !printable(value) {
		return "", "must be printable text, such as the SHA of a commit"
	}
	return value, tooLong(value, MaxSHABytes)
}

func deploymentType(value string) (string, string) {
	if !printable(value) {
		return "", "must be printable text, such as staging"
	}
	return value, tooLong(value, MaxTextBytes)
}

// service is trimmed, because it is compared exactly, and pipelines cut it out of the names of folders and images.
func service(value string) (string, string) {
	value = strings.TrimSpace(value)
	if value == "" || !printable(value) {
		return "", "must be printable text, such as cart"
	}
	return value, tooLong(value, MaxServiceBytes)
}

// deduplicationKey is any text: it is only compared.
func deduplicationKey(value string) (string, string) {
	return value, tooLong(value, MaxTextBytes)
}

// commitMessage keeps the first line. It is no reason to refuse a notification: anybody may write a long one.
func commitMessage(value string) (string, string) {
	line, _, _ := strings.Cut(strings.TrimSpace(value), "\n")
	return plaintext.Line(line, MaxTextBytes), ""
}

// commitAuthor drops the address of "Ann Lee <ann@example.com>", as GitLab and Git write it: pages show the name to whole teams.
func commitAuthor(value string) (string, string) {
	name, _, _ := strings.Cut(value, "<")
	return plaintext.Line(name, MaxTextBytes), ""
}

func hostingService(value string) (string, string) {
	for _, host := range codehost.All() {
		if strings.EqualFold(value, string(host.Name)) {
			return string(host.Name), ""
		}
	}
	return "", "must be " + codehost.Names() + ", not " + quote(value)
}

const urlShape = "must be an absolute http or https URL, such as https://staging.example.com/shop"

// httpURL refuses user names and passwords, which would show in pages, in logs and on the code host.
func httpURL(value string) (string, string) {
	if reason := tooLong(value, MaxURLBytes); reason != "" {
		return "", reason
	}
	odd := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	u, err := url.Parse(value)
	switch {
	case strings.ContainsFunc(value, odd) || err != nil || u.Scheme != "http" && u.Scheme != "https":
		return "", urlShape
	case u.User != nil:
		return "", "must not hold a user name or a password; " +
			"pass them to the tests as variables, better from a Secret that the Environment names in variablesFrom"
	case u.Hostname() == "" || !validPort(u.Port()):
		return "", urlShape
	}
	return value, ""
}

func validPort(port string) bool {
	_, err := strconv.ParseUint(cmp.Or(port, "0"), 10, 16)
	return err == nil
}

func printable(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) })
}
