package notification

import (
	"strconv"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// maxPasted bounds a value in a command, in bytes: a message shows it to people, who paste it.
const maxPasted = 256

// Command returns the command line that notifies a deployment from any shell, and perhaps asks for another run of it.
func Command(d v1alpha1.Deployment, rerun bool) string {
	command := "postflight notify --no-detect"
	if rerun {
		command += " --rerun"
	}
	number := ""
	if d.PullRequestNumber > 0 {
		number = strconv.FormatInt(d.PullRequestNumber, 10)
	}
	for _, flag := range [][2]string{
		{"sha", d.SHA}, {"branch", d.Branch}, {"type", d.Type}, {"deployment-url", d.URL}, {"repository", d.Repository},
		{"service", d.Service}, {"pull-request", number},
	} {
		if value := flag[1]; value != "" && len(value) <= maxPasted && printable(value) {
			command += " --" + flag[0] + " " + plaintext.ShellQuote(value)
		}
	}
	return command
}
