package github

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// protectionRule has what matters of an event of a custom deployment protection rule.
type protectionRule struct {
	Environment string `json:"environment"`
	Event       string `json:"event"`
	SHA         string `json:"sha"` // of the check suite; older versions have it only in the deployment
	Ref         string `json:"ref"`
	CallbackURL string `json:"deployment_callback_url"`
	Deployment  struct {
		ID        int64     `json:"id"`
		SHA       string    `json:"sha"`
		Ref       string    `json:"ref"`
		CreatedAt time.Time `json:"created_at"`
	} `json:"deployment"` // null for a job that creates no deployment
	Installation struct {
		ID int64 `json:"id"`
	} `json:"installation"`
}

// callback is the form of the URL for decisions, which alone has the workflow run. Nothing is ever sent to it.
var callback = regexp.MustCompile(
	`^https?://[^/?#@\s]+(?:/api/v3)?/repos/([^/?#\s]+/[^/?#\s]+)/actions/runs/([1-9][0-9]{0,18})/deployment_protection_rule$`)

func (p payload) review(e event.Event, body []byte) (event.Event, error) {
	if p.Action != requested {
		e.Ignored = fmt.Sprintf("The action of the protection rule is %q; only requested asks for a decision.",
			plaintext.Line(p.Action, maxShown))
		return e, nil
	}
	rule, err := read[protectionRule](body)
	if err != nil {
		return e, err
	}
	e.At = rule.Deployment.CreatedAt
	if missing := rule.missing(p, e); len(missing) > 0 {
		return e, &event.InvalidError{Reason: "The event lacks " + strings.Join(missing, ", ") + "."}
	}
	run, ok := rule.run(p.Repository.FullName)
	if !ok {
		return e, &event.InvalidError{Reason: "The deployment_callback_url is not that of a workflow run of the event's repository."}
	}
	review := event.Review{
		Environment: rule.Environment, SHA: rule.sha(), Ref: cmp.Or(rule.Ref, rule.Deployment.Ref), RunID: run,
		DeploymentID: max(0, rule.Deployment.ID), Installation: rule.Installation.ID, Trigger: plaintext.Line(rule.Event, maxShown), By: p.by(),
		CreatedAt: rule.Deployment.CreatedAt,
	}
	if err := event.CheckReview(review, v1alpha1.GitHub, p.Repository.FullName); err != nil {
		return e, err
	}
	e.Review = &review
	e.ID = fmt.Sprintf("github/deployment_protection_rule/%d/%s", run, rule.request(e))
	return e, nil
}

// missing names what each event has, and this one has not.
func (r protectionRule) missing(p payload, e event.Event) (members []string) {
	for _, member := range []struct {
		name string
		has  bool
	}{
		{"environment", r.Environment != ""}, {"deployment_callback_url", r.CallbackURL != ""},
		{"repository.full_name", p.Repository.FullName != ""}, {"installation.id", r.Installation.ID > 0},
		{"the header X-GitHub-Delivery", r.request(e) != ""},
	} {
		if !member.has {
			members = append(members, member.name)
		}
	}
	return members
}

// request tells the requests of a workflow run apart: each of its jobs, and each of its attempts, asks.
func (r protectionRule) request(e event.Event) string {
	if r.Deployment.ID > 0 {
		return strconv.FormatInt(r.Deployment.ID, 10)
	}
	return e.Delivery
}

func (r protectionRule) run(repository string) (id int64, ok bool) {
	m := callback.FindStringSubmatch(r.CallbackURL)
	if m == nil || !commit.SameRepository(m[1], repository) {
		return 0, false
	}
	id, err := strconv.ParseInt(m[2], 10, 64)
	return id, err == nil
}

// sha returns the one commit that the event names, or "".
func (r protectionRule) sha() string {
	sha := commit.NormalSHA(cmp.Or(r.SHA, r.Deployment.SHA))
	if !commit.IsSHA(sha) || commit.NormalSHA(cmp.Or(r.Deployment.SHA, sha)) != sha {
		return ""
	}
	return sha
}
