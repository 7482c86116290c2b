package notification

import "github.com/postflight-dev/postflight/api/httpapi"

// Encode returns what Decode reads the same Notification of, without what only events have.
func Encode(n *Notification) httpapi.Notification {
	return httpapi.Notification{
		Branch: n.Branch, SHA: n.SHA, DeploymentType: n.DeploymentType, DeploymentURL: n.DeploymentURL,
		HostingService: string(n.HostingService), CommitURL: n.CommitURL, CommitMessage: n.CommitMessage, CommitAuthor: n.CommitAuthor,
		Variables: n.Variables, DeduplicationKey: n.DeduplicationKey, EphemeralEnvironment: n.EphemeralEnvironment,
		Repository: n.Repository, Service: n.Service, PullRequestNumber: int(n.PullRequestNumber), PipelineID: int(n.PipelineID),
	}
}
