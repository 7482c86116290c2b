package rerun

import (
	"fmt"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// First is a request to run a Trigger for the deployment that a run of another Trigger tests.
type First struct {
	Trigger     *v1alpha1.Trigger // with the parts of its class
	Tested      *v1alpha1.Suite   // by the other Trigger, with its variables
	Environment *v1alpha1.Environment
	Ledger      *ledger.Ledger // of the Environment
	Now         time.Time
	RequestID   string
	By          string
}

// Problem returns why there can be no such run, as a sentence, or "".
func (f First) Problem() string {
	if f.Trigger.Spec.Environment != suite.BaseOf(f.Environment) {
		return fmt.Sprintf("The Trigger %s starts runs in %s, and not in %s.", f.Trigger.Name, f.Trigger.Spec.Environment, f.Environment.Name)
	}
	if clause := Obstacle(f.Tested, f.Ledger); clause != "" {
		return fmt.Sprintf("The Trigger %s is not started, because %s. %s", f.Trigger.Name, clause,
			Advice(f.Tested, f.Ledger.Replaced(f.Tested)))
	}
	return ""
}

// Attempt returns an attempt of the run. It has the name that a notification would give it, so that the two are one run, and it is no
// deployment, so that it supersedes nothing.
func (f First) Attempt(attempt int32) *v1alpha1.Suite {
	s := suite.New(suite.Request{
		Trigger: f.Trigger, Environment: f.Environment.Name, EnvironmentUID: f.Environment.UID, Ephemeral: f.Environment.Spec.Ephemeral != nil,
		Notification: f.Notification(), Siblings: f.siblings(), Origin: v1alpha1.OriginRerun,
		RequestID: f.RequestID, ReceivedAt: f.Now, Attempt: attempt,
	})
	s.Annotations[v1alpha1.AnnotationRerunBy] = f.By
	s.Spec.DeployedAt = deployedBy(f.Tested, f.Ledger, f.Now)
	return s
}

// Notification is that of the deployment.
func (f First) Notification() *notification.Notification {
	d := f.Tested.Spec.Deployment
	return &notification.Notification{
		Branch: d.Branch, SHA: d.SHA, DeploymentType: d.Type, DeploymentURL: d.URL, HostingService: d.HostingService,
		CommitURL: d.CommitURL, CommitMessage: d.CommitMessage, CommitAuthor: d.CommitAuthor,
		Repository: d.Repository, Service: d.Service, PullRequestNumber: d.PullRequestNumber, PipelineID: d.PipelineID,
		Variables: f.Tested.Spec.Variables, DeduplicationKey: suite.DeduplicationKey(f.Tested),
	}
}

// siblings are those of the other run, which takes the place of the Trigger among them.
func (f First) siblings() []string {
	names := slices.DeleteFunc(slices.Clone(f.Tested.Spec.Siblings), func(name string) bool { return name == f.Trigger.Name })
	names = append(names, f.Tested.Spec.Trigger.Name)
	slices.Sort(names)
	return suite.BoundSiblings(slices.Compact(names))
}

// Outdated reports whether an attempt that exists says nothing about the Environment: it was restored, or is of an earlier Environment.
func (f First) Outdated(existing *v1alpha1.Suite) bool {
	return existing.Restored() || f.Ledger.Removed(existing)
}
