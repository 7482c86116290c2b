package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/ci"
)

// Deployment is what the flags, or variables in their place, say was deployed.
type Deployment struct {
	Branch, SHA, Type, URL string
	HostingService         string
	CommitURL              string
	Repository             string
	PullRequest            int
	Variables              []string // NAME=value
	DeduplicationKey       string
	Ephemeral              bool
	NoDetect               bool // take nothing from the CI system
}

// OrVariables takes what no flag says from variables, so that values which others choose, such as the
// name of a branch, need not stand on a command line. They are no detection: NoDetect leaves them be.
func (d Deployment) OrVariables(getenv func(string) string) Deployment {
	d.Branch = cmp.Or(d.Branch, getenv("POSTFLIGHT_BRANCH"))
	d.SHA = cmp.Or(d.SHA, getenv("POSTFLIGHT_SHA"))
	d.Type = cmp.Or(d.Type, getenv("POSTFLIGHT_DEPLOYMENT_TYPE"))
	d.URL = cmp.Or(d.URL, getenv("POSTFLIGHT_DEPLOYMENT_URL"))
	return d
}

// DetectCI reads what the CI system says, from the environment of the process.
func DetectCI(getenv func(string) string) ci.Context {
	var event []byte
	if path := getenv("GITHUB_EVENT_PATH"); path != "" {
		event, _ = os.ReadFile(path) // says nothing where it cannot be read
	}
	return ci.Detect(getenv, event)
}

// Notification is what is sent: the flags, and for what they leave open, what the CI system says.
func (d Deployment) Notification(detected ci.Context) (client.Notification, error) {
	if d.NoDetect {
		detected = ci.Context{}
	}
	if d.SHA != "" && d.SHA != detected.SHA { // what else is known is of another commit
		detected.CommitURL = ""
	}
	n := client.Notification{
		Branch:               cmp.Or(d.Branch, detected.Branch),
		SHA:                  cmp.Or(d.SHA, detected.SHA),
		DeploymentType:       d.Type,
		DeploymentURL:        d.URL,
		HostingService:       cmp.Or(d.HostingService, detected.HostingService),
		CommitURL:            cmp.Or(d.CommitURL, detected.CommitURL),
		DeduplicationKey:     d.DeduplicationKey,
		EphemeralEnvironment: d.Ephemeral,
		PullRequestNumber:    cmp.Or(max(d.PullRequest, 0), detected.PullRequestNumber),
		Repository:           cmp.Or(d.Repository, detected.Repository),
	}
	var err error
	n.Variables, err = parseVariables(d.Variables)
	return n, err
}

func parseVariables(pairs []string) (map[string]string, error) {
	variables := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--variable %q: write it as NAME=value", pair)
		}
		variables[name] = value
	}
	return variables, nil
}

// describe says what is reported, in a line.
func describe(n client.Notification, detected ci.Context) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	add("branch", n.Branch)
	add("commit", shortSHA(n.SHA))
	add("type", n.DeploymentType)
	add("at", n.DeploymentURL)
	if n.PullRequestNumber > 0 {
		parts = append(parts, fmt.Sprintf("pull request %d", n.PullRequestNumber))
	}
	if len(parts) == 0 {
		parts = []string{"a deployment of which nothing is known"}
	}
	line := strings.Join(parts, ", ")
	if detected.System != "" {
		line += " (from " + detected.System + ")"
	}
	return line
}

func shortSHA(sha string) string { return sha[:min(len(sha), 12)] }
