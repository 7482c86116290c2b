package doctor

import "strings"

// Check is one of the checks at /readyz of a replica.
type Check struct {
	Path string // below /readyz
	name string
	fine string // a clause
	do   string
}

// Checks lists the checks to ask a replica for.
var Checks = []Check{
	{"", "replicas", "is ready", "See its log."},
	{"/store", "store", "reaches the object store",
		"docs/operations/failures.md says what Postflight does meanwhile. See the log of the pod."},
	{"/clock", "clock", "has the time of the API server", "Correct the clock of its node. Postflight corrects times meanwhile."},
}

const statusOK, statusNotFound = 200, 404

// Replica judges a pod's answer to a check. A pod lacks checks of what is not configured.
func Replica(pod string, c Check, status int, body string) Finding {
	switch {
	case status == statusOK:
		return ok(c.name, "The pod %s %s.", pod, c.fine)
	case status == statusNotFound && c.name == "store":
		return ok(c.name, "The pod %s has no object store: no input files, no records.", pod)
	case status == statusNotFound:
		return ok(c.name, "The pod %s has no such check.", pod)
	}
	body = strings.TrimSpace(strings.TrimPrefix(body, "internal server error: "))
	f := warning(c.name, c.do, "The pod %s says: %s", pod, body)
	if c.name == "store" {
		f.Level = Failure
	}
	return f
}
