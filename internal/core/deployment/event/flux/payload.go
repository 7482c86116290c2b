package flux

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
)

// payload has the members of an Event of event.toolkit.fluxcd.io/v1beta1 that matter. Others are checked to be JSON, with each name once,
// and skipped.
type payload struct {
	Object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
		UID        string `json:"uid"`
	} `json:"involvedObject"`
	Severity  string            `json:"severity"`
	Timestamp time.Time         `json:"timestamp"`
	Reason    string            `json:"reason"`
	Metadata  map[string]string `json:"metadata"`
}

func read(body []byte) (payload, error) {
	var p payload
	if err := event.Unmarshal(body, &p); err != nil {
		return p, &event.InvalidError{Reason: "The body is not the JSON of an event of Flux: " +
			"each member must be there once, and have the type that Flux documents."}
	}
	return p, nil
}

func (p payload) group() string {
	group, _, _ := strings.Cut(p.Object.APIVersion, "/")
	return group
}

// meta returns a value of the metadata. Flux cuts the group of the object's kind, or of events, off the keys; before 2.5, it did not.
func (p payload) meta(key string) string {
	return cmp.Or(p.Metadata[key], p.Metadata[p.group()+"/"+key], p.Metadata["event.toolkit.fluxcd.io/"+key])
}

// digest covers all that makes two events equal, and more: the message has how long something took.
func (p payload) digest(more string) string {
	h := sha256.New()
	o := p.Object
	_, _ = fmt.Fprintf(h, "%q %q %q %q %q %q %q", o.APIVersion, o.Kind, o.Namespace, o.Name, o.UID, p.Reason, more)
	for _, key := range slices.Sorted(maps.Keys(p.Metadata)) {
		_, _ = fmt.Fprintf(h, " %q=%q", key, p.Metadata[key])
	}
	return hex.EncodeToString(h.Sum(nil))
}
