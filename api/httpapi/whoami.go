package httpapi

import "time"

// WhoAmI says who sends a request, and what it may do.
type WhoAmI struct {
	Sender          Sender     `json:"sender"`
	Team            string     `json:"team"`
	Namespace       string     `json:"namespace"`                  // of the team
	Actions         []string   `json:"actions"`                    // of notify, upload, outcome, read and act
	DeploymentTypes []string   `json:"deployment_types,omitempty"` // that notifications may have; empty: all
	Environments    []string   `json:"environments,omitempty"`     // that notifications may reach; empty: all
	Commit          string     `json:"commit,omitempty"`           // notifications may name no other; empty: any
	Runs            []string   `json:"runs,omitempty"`             // the only ones that may be read; empty: all
	ExpiresAt       *time.Time `json:"expires_at,omitempty"`       // when the credential ends; nil: unknown, or never
}

// Sender is who sends a request.
type Sender struct {
	Kind string `json:"kind"` // key, serviceaccount, token or wait
	Name string `json:"name"` // namespace/name of the APIKey, the ServiceAccount or the TrustPolicy
}
