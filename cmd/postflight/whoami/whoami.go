// Package whoami has the command that says who the server takes the sender for.
package whoami

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/credential"
)

type options struct {
	access.Server
	now func() time.Time
}

// New returns the command.
func New() *cobra.Command {
	o := &options{now: time.Now}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:   "whoami",
		Short: "Show as whom the server knows you, and what you may do",
		Long: `Shows which credential the commands send, who the server takes it for, its team, and what it may do. It changes nothing,
so that a pipeline can begin with it.

The first of these that there is identifies you:
  1. $POSTFLIGHT_API_KEY, or the file $POSTFLIGHT_API_KEY_FILE: an API key
  2. the file $POSTFLIGHT_TOKEN_FILE, or ` + credential.DefaultTokenFile + `: a token of the pod's ServiceAccount,
     which is read for each request
  3. $POSTFLIGHT_ID_TOKEN: a token of the CI system, from id_tokens of GitLab
  4. a token that the command requests from GitHub Actions, if the job has "permissions: {id-token: write}"
  5. a token that the command requests with buildkite-agent or circleci, in jobs of these

Tokens are for the audience postflight, or $POSTFLIGHT_AUDIENCE. A token of a CI system does not say whose it is: $POSTFLIGHT_TEAM or
--team names the Team, or TEAM/TRUSTPOLICY. No command prints a key or a token.

If you are refused, the error says what is wrong with the key, or what the token says about itself. Your operator decides
which issuers of tokens it trusts, and the team with TrustPolicies and RoleBindings what each may do.`,
		Example: `  # As the first step of a pipeline that is new
  postflight whoami

  # What a job may do, for a script
  postflight whoami -o json | jq -r '.actions[]'`,
		Args: cobra.NoArgs,
		RunE: o.Command(func(ctx context.Context, _ []string) error { return o.run(ctx) }),
	})
	o.AddFlags(cmd)
	return cmd
}

// answer is what -o json prints.
type answer struct {
	*client.WhoAmI
	Credential sent `json:"credential"`
}

// sent is what the command sent, without the secret.
type sent struct {
	From     string     `json:"from"`
	Issuer   string     `json:"issuer,omitempty"`
	Subject  string     `json:"subject,omitempty"`
	Audience []string   `json:"audience,omitempty"`
	Expires  *time.Time `json:"expires_at,omitempty"`
}

func (o *options) run(ctx context.Context) error {
	who, err := o.Client.WhoAmI(ctx)
	if failed, ok := errors.AsType[*client.Error](err); ok && failed.Status == http.StatusNotFound && failed.Problem != nil {
		return fmt.Errorf("the server accepts %s, but is too old to say what you may do. Ask its operator to upgrade Postflight", o.Sender.From)
	}
	if err != nil {
		return err
	}
	all := answer{who, o.sent(ctx)}
	return o.Console.Result(all, func() error { return o.Console.Table(o.rows(all)) })
}

func (o *options) sent(ctx context.Context) sent {
	s := sent{From: o.Sender.From}
	token, err := o.Sender.Token(ctx, "")
	c, ok := credential.ClaimsOf(token)
	if err != nil || o.Sender.Key || !ok {
		return s
	}
	s.Issuer, s.Subject, s.Audience = c.Issuer, c.Subject, c.Audience
	if !c.Expires.IsZero() {
		s.Expires = new(c.Expires.UTC())
	}
	return s
}

func (o *options) rows(a answer) [][]string {
	rows := [][]string{
		{"You are:", strings.TrimSpace(a.Sender.Kind + " " + a.Sender.Name)},
		{"Team:", fmt.Sprintf("%s, in the namespace %s", a.Team, a.Namespace)},
		{"May:", mayDo(a.Actions)},
		{"Deployment types:", anyOf(a.DeploymentTypes)},
		{"Environments:", anyOf(a.Environments)},
		{"Commit:", a.Commit},
		{"Runs:", strings.Join(a.Runs, ", ")},
		{"Until:", o.until(a.ExpiresAt)},
		{"Sent:", a.Credential.From},
		{"Issuer:", a.Credential.Issuer},
		{"Subject:", a.Credential.Subject},
		{"Audience:", strings.Join(a.Credential.Audience, ", ")},
		{"Sent until:", o.until(a.Credential.Expires)},
	}
	return cli.WithValue(rows)
}

var actions = map[string]string{
	"notify": "notify (report deployments)", "upload": "upload (files for runs)", "outcome": "outcome (read how runs end)",
	"read": "read (runs, logs and files)", "act": "act (cancel and repeat runs)",
}

func mayDo(names []string) string {
	var all []string
	for _, name := range names {
		if name == "outcome" && slices.Contains(names, "read") { // which is more
			continue
		}
		all = append(all, cmp.Or(actions[name], name))
	}
	return cmp.Or(strings.Join(all, ", "), "nothing")
}

func anyOf(patterns []string) string { return cmp.Or(strings.Join(patterns, ", "), "any") }

func (o *options) until(t *time.Time) string {
	switch {
	case t == nil:
		return ""
	case !t.After(o.now()):
		return t.UTC().Format(time.RFC3339) + " (over)"
	default:
		return fmt.Sprintf("%s (%s)", t.UTC().Format(time.RFC3339), cli.Age(o.now(), *t))
	}
}
