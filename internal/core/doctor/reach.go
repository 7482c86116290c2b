package doctor

import (
	"net/url"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/doctor/reach"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	checkReach = "reach"

	notableAhead = 5 * time.Second // more than a Date header and a slow answer explain
)

// Reach checks what a pod in the namespace could reach. An answer of any status counts.
func Reach(namespace string, r reach.Result) Finding {
	host := r.URL
	if u, err := url.Parse(r.URL); err == nil {
		host = u.Hostname()
	}
	switch {
	case len(r.Addresses) == 0 && r.Status == 0:
		return failure(checkReach, "See the DNS of the cluster, and NetworkPolicies that forbid port 53.", "A pod in %s cannot resolve %s: %s.",
			namespace, host, strings.TrimSuffix(r.Problem, "."))
	case r.Untrusted:
		return warning(checkReach,
			"Pods of runs trust the authorities in --pod-ca-file and --store-ca-file, too. The manager trusts those of its image for webhooks.",
			"A pod in %s reaches %s, and does not trust its certificate: %s.", namespace, r.URL, strings.TrimSuffix(r.Problem, "."))
	case r.Status == 0:
		return failure(checkReach, "See NetworkPolicies, proxies and firewalls between them, and who signed the certificate.",
			"A pod in %s cannot reach %s: %s.", namespace, r.URL, strings.TrimSuffix(r.Problem, "."))
	case r.Ahead.Abs() > notableAhead:
		return warning(checkReach, "Correct the clock of the node or of the server.", "A pod in %s reaches %s, whose clock differs by %s.",
			namespace, r.URL, plaintext.Duration(r.Ahead.Abs()))
	default:
		return ok(checkReach, "A pod in %s reaches %s (HTTP %d).", namespace, r.URL, r.Status)
	}
}

// NoReach is the finding for a pod that reported nothing.
func NoReach(namespace, why string) Finding {
	return failure(checkReach, "See the events of the namespace.", "The pod that tries addresses in %s did not run: %s.", namespace,
		strings.TrimSuffix(why, "."))
}
