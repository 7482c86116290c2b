package gitlab

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	maxShown = 64 // of a value that a sentence repeats, in bytes

	deployment   = "deployment"
	success      = "success"
	note         = "note"
	mergeRequest = "merge_request"

	blocked = "blocked" // since GitLab 19.3, also for a manual job that needs no approval
)

// delivery is an id that GitLab gives to an event, and to all attempts to deliver it: a UUID.
var delivery = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// Decode reads an event that was verified. GitLab disables a webhook that fails often, so what is no deployment is ignored, and not
// refused.
func Decode(h event.Header, body []byte, o event.Options) (event.Event, error) {
	e := event.Event{}
	for _, id := range []string{h.Get(idHeader), h.Get("Idempotency-Key"), h.Get("X-Gitlab-Event-UUID")} {
		if e.Delivery == "" && delivery.MatchString(id) {
			e.Delivery = id
		}
	}
	k, err := read[kind](body)
	if err != nil {
		return e, err
	}
	e.Type = plaintext.Line(cmp.Or(k.Kind, k.EventName, h.Get("X-Gitlab-Event")), maxShown)
	switch k.Kind {
	case deployment:
	case note:
		return comment(e, body)
	case mergeRequest:
		return closed(e, body)
	default:
		e.Ignored = fmt.Sprintf("Postflight does nothing about events of the type %s.", e.Type)
		return e, nil
	}
	p, err := read[payload](body)
	if err != nil {
		return e, err
	}
	e.Repository, e.At = plaintext.Line(p.Project.Path, notification.MaxTextBytes), p.changedAt()
	return p.deployed(e, body, o)
}

func (p payload) deployed(e event.Event, body []byte, o event.Options) (event.Event, error) {
	switch {
	case p.Status == blocked:
		return p.review(e, body)
	case p.Status != success:
		e.Ignored = fmt.Sprintf("The status of the deployment is %q; only success starts runs.", plaintext.Line(p.Status, maxShown))
		return e, nil
	case p.CommitURL == "":
		e.Ignored = "GitLab does not find the commit of the deployment in the repository, so its SHA is not known."
		return e, nil
	}
	sha, ok := p.sha()
	if !ok || p.Environment == "" {
		return e, &event.InvalidError{Reason: "The event lacks the environment, or its commit_url is not that of a commit of the project " +
			"that begins with short_sha."}
	}
	n, err := event.NewNotification(map[string]string{
		"sha": sha, "branch": p.Ref, "deployment_type": o.DeploymentType(p.Environment), "deployment_url": p.ExternalURL,
		"repository": p.Project.Path, "commit_url": p.CommitURL, "commit_message": p.CommitTitle, "hosting_service": string(v1alpha1.GitLab),
	})
	if err != nil {
		return e, err
	}
	e.Notification = n
	if p.DeploymentID > 0 {
		e.ID = "gitlab/deployment/" + strconv.FormatInt(p.DeploymentID, 10)
	} else { // of an old version
		digest := sha256.Sum256(body)
		e.Key = hex.EncodeToString(digest[:])
		e.ID = "gitlab/" + e.Key
	}
	if p.DeployableID == 0 { // Postflight has no jobs, so that this may be its own
		e.Post = &event.Post{Environment: p.Environment, Deployment: p.DeploymentID}
	}
	return e, nil
}

// review needs no commit: GitLab may not find it in the repository, and the deployment names it.
func (p payload) review(e event.Event, body []byte) (event.Event, error) {
	by, err := read[starter](body)
	if err != nil {
		return e, err
	}
	sha, ok := "", true
	if p.CommitURL != "" {
		sha, ok = p.sha()
	}
	if !ok || p.Environment == "" || p.DeploymentID <= 0 || p.Project.Path == "" {
		return e, &event.InvalidError{Reason: "The event lacks the environment, the deployment_id or the project, or its commit_url is " +
			"not that of a commit of the project that begins with short_sha."}
	}
	review := event.Review{
		Environment: p.Environment, SHA: commit.NormalSHA(sha), Ref: p.Ref, DeploymentID: p.DeploymentID,
		By: event.Starter(v1alpha1.GitLab, by.User.Name), CreatedAt: e.At,
	}
	if err := event.CheckReview(review, v1alpha1.GitLab, p.Project.Path); err != nil {
		return e, err
	}
	e.Review = &review
	e.ID = fmt.Sprintf("gitlab/deployment/%d/%s", p.DeploymentID, blocked)
	return e, nil
}
