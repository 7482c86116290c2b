package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

// aboutDuplicate says what a run that existed already is worth for this deployment.
func aboutDuplicate(r client.Result, now time.Time) string {
	var about []string
	if other := otherDeployment(r); other != "" {
		about = append(about, "it tests a deployment with "+other)
	}
	if r.DuplicateEndedAt != nil {
		about = append(about, fmt.Sprintf("the result of a run %s ago; nothing ran now", cli.Age(*r.DuplicateEndedAt, now)))
	}
	if len(about) == 0 {
		return ""
	}
	return " (" + strings.Join(about, "; ") + ")"
}

// differences complete "a deployment with".
var differences = map[httpapi.Difference]string{
	httpapi.DifferentURL:       "another URL",
	httpapi.DifferentVariables: "other variables",
	httpapi.DifferentInputs:    "other input files",
	httpapi.UnknownInputs:      "perhaps other input files, because the store could not be asked",

	httpapi.DifferentRepository:  "another repository",
	httpapi.DifferentEnvironment: "an Environment that was deleted and created again since",
}

// otherDeployment is how the run of a duplicate tests another deployment; "" if it tests the same.
func otherDeployment(r client.Result) string {
	var all []string
	for _, d := range r.DuplicateDiffers {
		text, known := differences[d]
		if !known { // by an older version of this command
			text = "another " + string(d)
		}
		all = append(all, text)
	}
	switch n := len(all); n {
	case 0, 1:
		return strings.Join(all, "")
	default:
		return strings.Join(all[:n-1], ", ") + " and " + all[n-1]
	}
}

// statusOf is what is known of a run before anybody waits for it.
func (o *NotifyOptions) statusOf(r client.Result) RunStatus {
	s := RunStatus{Run: r.RunID(), Trigger: r.TriggerID, Verdict: waiting}
	if other := otherDeployment(r); other != "" && !o.acceptDifferent {
		s.Verdict = different
		s.Reason = fmt.Sprintf("The run tests a deployment of this commit with %s, so its result says nothing about this one. To test this one, "+
			"notify with --rerun, or set \"duplicates: Deployment\" in the Trigger. To take that result, add --accept-different.", other)
	}
	return s
}
