package gate

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/deployment/ci"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

const detection = `Branch, commit, repository and pull request come from the variables of GitHub Actions, GitLab CI, CircleCI,
Jenkins, Buildkite, Azure Pipelines or Bitbucket Pipelines, unless you give them.

$POSTFLIGHT_BRANCH, $POSTFLIGHT_SHA, $POSTFLIGHT_SERVICE, $POSTFLIGHT_DEPLOYMENT_TYPE,
$POSTFLIGHT_DEPLOYMENT_URL, $POSTFLIGHT_COMMIT_MESSAGE and $POSTFLIGHT_COMMIT_AUTHOR take precedence over these, and flags over all of
them. Pass untrusted values, such as the name of a branch, in these variables: on a command line, a shell
might run a part of them.`

// Deployment says what was deployed, by flags or by the variables that replace them.
type Deployment struct {
	Branch, SHA, Kind, URL string
	hostingService         string
	commitURL              string
	commitMessage          string
	commitAuthor           string
	repository, service    string
	pullRequest            int
	pipeline               int
	Variables              []string // NAME=value
	deduplicationKey       string
	ephemeral              bool
	NoDetect               bool       // ignore the CI system
	Detected               ci.Context // from the CI system
}

func (d *Deployment) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&d.Branch, "branch", "", "branch that was deployed; default: $POSTFLIGHT_BRANCH")
	f.StringVar(&d.SHA, "sha", "", "commit that was deployed; default: $POSTFLIGHT_SHA")
	f.StringVar(&d.Kind, "type", "", "deployment type that Triggers match, e.g. staging; default: $POSTFLIGHT_DEPLOYMENT_TYPE")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.NoFileCompletions) // what Triggers match may be a pattern
	f.StringVar(&d.URL, "deployment-url", "", "where it is served; the runs see it as $URL; default: $POSTFLIGHT_DEPLOYMENT_URL")
	f.StringArrayVarP(&d.Variables, "variable", "v", nil, "variable for the runs, NAME=value; may be repeated")
	f.StringVar(&d.repository, "repository", "", "owner/name")
	f.StringVar(&d.service, "service", "", "service of a repository that has several, e.g. cart; default: $POSTFLIGHT_SERVICE")
	f.StringVar(&d.hostingService, "hosting-service", "", codehost.Names())
	f.IntVar(&d.pullRequest, "pull-request", 0, "number of the pull or merge request")
	f.IntVar(&d.pipeline, "pipeline", 0, "id of the GitLab pipeline that the check belongs to; default: the newest of the commit and branch")
	f.StringVar(&d.commitURL, "commit-url", "", "link to the commit")
	f.StringVar(&d.commitMessage, "commit-message", "",
		"message of the commit, for pages; its first line is kept; default: $POSTFLIGHT_COMMIT_MESSAGE")
	f.StringVar(&d.commitAuthor, "commit-author", "", "name of its author, for pages; default: $POSTFLIGHT_COMMIT_AUTHOR")
	f.StringVar(&d.deduplicationKey, "deduplication-key", "",
		"newer runs stop older ones with the same key; default: branch/environment, or what the Trigger's supersede says")
	f.BoolVar(&d.ephemeral, "ephemeral", false, "the deployment has an Environment of its own, named after --deployment-url")
	f.BoolVar(&d.NoDetect, "no-detect", false, "ignore the variables of the CI system")
}

// readEnvironment fills in what no flag says, and detects the CI system.
func (d *Deployment) readEnvironment(getenv func(string) string) {
	d.Branch = cmp.Or(d.Branch, getenv("POSTFLIGHT_BRANCH"))
	d.SHA = cmp.Or(d.SHA, getenv("POSTFLIGHT_SHA"))
	d.Kind = cmp.Or(d.Kind, getenv("POSTFLIGHT_DEPLOYMENT_TYPE"))
	d.URL = cmp.Or(d.URL, getenv("POSTFLIGHT_DEPLOYMENT_URL"))
	d.service = cmp.Or(d.service, getenv("POSTFLIGHT_SERVICE"))
	d.commitMessage = cmp.Or(d.commitMessage, getenv("POSTFLIGHT_COMMIT_MESSAGE"))
	d.commitAuthor = cmp.Or(d.commitAuthor, getenv("POSTFLIGHT_COMMIT_AUTHOR"))
	var event []byte
	if path := getenv("GITHUB_EVENT_PATH"); path != "" {
		event, _ = os.ReadFile(path) // an unreadable event is ignored
	}
	d.Detected = ci.Detect(getenv, event)
}

// notification is what to send: the flags, completed by what the CI system says.
func (d *Deployment) notification() (client.Notification, error) {
	detected := d.Detected
	if d.NoDetect {
		detected = ci.Context{}
	}
	if d.SHA != "" && !d.sameCommit(detected) { // this is about another commit
		detected.CommitURL, detected.CommitMessage, detected.CommitAuthor = "", "", ""
	}
	variables, err := parseVariables(d.Variables)
	return client.Notification{
		Branch:               cmp.Or(d.Branch, detected.Branch),
		SHA:                  cmp.Or(d.SHA, detected.SHA),
		DeploymentType:       d.Kind,
		DeploymentURL:        d.URL,
		HostingService:       cmp.Or(d.hostingService, detected.HostingService),
		CommitURL:            cmp.Or(d.commitURL, detected.CommitURL),
		CommitMessage:        cmp.Or(d.commitMessage, detected.CommitMessage),
		CommitAuthor:         cmp.Or(d.commitAuthor, detected.CommitAuthor),
		Variables:            variables,
		DeduplicationKey:     d.deduplicationKey,
		EphemeralEnvironment: d.ephemeral,
		Repository:           cmp.Or(d.repository, detected.Repository),
		Service:              d.service,
		PullRequestNumber:    cmp.Or(max(d.pullRequest, 0), detected.PullRequestNumber),
		PipelineID:           max(d.pipeline, 0),
	}, err
}

// sameCommit reports whether the flags name the commit of the CI system.
func (d *Deployment) sameCommit(detected ci.Context) bool {
	named := commit.New(cmp.Or(d.repository, detected.Repository), "", d.SHA)
	return named.Same(commit.New(detected.Repository, "", detected.SHA))
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

// describe sums up a notification in a line.
func (d *Deployment) describe(n client.Notification) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	add("branch", n.Branch)
	add("commit", cli.ShortSHA(n.SHA))
	add("service", n.Service)
	add("type", n.DeploymentType)
	add("at", n.DeploymentURL)
	if n.PullRequestNumber > 0 {
		add("pull request", fmt.Sprint(n.PullRequestNumber))
	}
	if len(parts) == 0 {
		parts = []string{"a deployment without branch, commit or type"}
	}
	line := strings.Join(parts, ", ")
	if d.Detected.System != "" {
		if n.SHA == "" { // such as a comment on a pull request
			line += ", without a commit, which --sha names"
		}
		line += " (from " + d.Detected.System + ")"
	}
	return line
}
