// Package delegation holds what a hub says about itself and its sender, when it asks another Postflight for it.
package delegation

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Header has a Delegation. Everyone may send one, because it only takes rights away.
const Header = "Postflight-Delegation"

// Delegation is what a request of a hub is about. The zero value is a request without a hub.
type Delegation struct {
	Hub string `json:"hub"` // its URL or name, for people who look at audit lines
	For string `json:"for"` // who sent the request to the hub, the same

	// Environments are the only ones that exist for the request, with the ephemeral ones that are derived from them. There is at least one.
	Environments []string `json:"environments"`
	// Bounds are the rights of the sender at the hub, patterns as in a Grant.
	Bounds grant.Bounds `json:"bounds,omitzero"`

	// HeldFor is how long the hub had the notification before it sent it.
	HeldFor time.Duration `json:"heldFor,omitempty"`
	// Event says that an event of a code host or a GitOps controller has led to the request.
	Event bool `json:"event,omitempty"`
	// DeployedAt is when an event says that the deployment was; zero: the request is about none, or does not say it.
	DeployedAt time.Time `json:"deployedAt,omitzero"`
	// Post is what the code host of an event shows: the cluster may have posted it, and knows its runs.
	Post *event.Post `json:"post,omitempty"`
}

const (
	// MaxEnvironments bounds the Environments of a team in one cluster: with names of 63 characters, they take half of the 12 KiB that
	// all headers of a request may have.
	MaxEnvironments = 64

	// MaxHeld bounds HeldFor: no hub holds a notification for longer.
	MaxHeld = time.Minute

	maxHeader = 8 << 10 // in bytes
	maxPost   = 1 << 10 // of all its texts, in bytes: Postflight's own are shorter
	maxShown  = 256     // of a name, in bytes, for audit lines
)

var errMalformed = errors.New("the header " + Header + " is not one that a hub sends")

// Encode returns the value of the header.
func (d Delegation) Encode() (string, error) {
	if p := d.Post; p != nil && len(p.Environment)+len(p.LogURL)+len(p.Description) > maxPost {
		d.Post = nil
	}
	text, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	if len(d.Environments) > MaxEnvironments {
		return "", fmt.Errorf("the team has %d Environments in the cluster, and %d are allowed", len(d.Environments), MaxEnvironments)
	}
	value := base64.RawURLEncoding.EncodeToString(text)
	if len(value) > maxHeader {
		return "", fmt.Errorf("the header %s would have %d bytes, and %d are allowed: the team has too many Environments in the cluster, or "+
			"the sender's rights have too many names", Header, len(value), maxHeader)
	}
	return value, nil
}

// Decode reads a value of the header. Without Environments, a request would be about all of them, which no hub means.
func Decode(value string) (*Delegation, error) {
	if len(value) > maxHeader {
		return nil, errMalformed
	}
	text, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return nil, errMalformed
	}
	d := &Delegation{}
	if json.Unmarshal(text, d) != nil || len(d.Environments) == 0 || len(d.Environments) > MaxEnvironments {
		return nil, errMalformed
	}
	d.Hub, d.For = plaintext.Line(d.Hub, maxShown), plaintext.Line(d.For, maxShown)
	return d, nil
}

// Narrow returns what the hub's own rights leave for the request.
func (d *Delegation) Narrow(g grant.Grant) grant.Grant {
	g.Known = d.Environments
	g.Environments = grant.Both(g.Environments, d.Bounds.Environments)
	g.DeploymentTypes = grant.Both(g.DeploymentTypes, d.Bounds.DeploymentTypes)
	g.Acts.Environments = grant.Both(g.Acts.Environments, d.Bounds.Environments)
	g.Acts.DeploymentTypes = grant.Both(g.Acts.DeploymentTypes, d.Bounds.DeploymentTypes)
	return g
}

// By names both senders, for people who look at what was done.
func (d *Delegation) By(hub string) string {
	return fmt.Sprintf("%s at the hub %s, by %s", d.For, d.Hub, hub)
}
