package job

import (
	"encoding/json"
	"time"

	"github.com/postflight-dev/postflight/internal/core/plaintext"
)

// MaxReachURLs is how many results fit into a termination message, which the kubelet cuts after 4,096 bytes.
const MaxReachURLs = 8

const (
	// These are in bytes; the results of all addresses fit even if every byte is escaped once.
	maxReachURL     = 100
	maxReachProblem = 100
)

// Reached is what a pod found out about one URL. It travels to the command line in the pod's termination message.
type Reached struct {
	URL       string        `json:"url"`
	Addresses []string      `json:"addresses,omitempty"` // at most two
	Status    int           `json:"status,omitempty"`    // of HTTP; 0: there was no answer
	Ahead     time.Duration `json:"ahead,omitempty"`     // how far the clock of the pod is ahead of the server's, in whole seconds
	Problem   string        `json:"problem,omitempty"`   // why there was no answer
	Untrusted bool          `json:"untrusted,omitempty"` // there was a server, whose certificate the pod does not trust
}

// ReachMessage returns the termination message of a pod that tried URLs.
func ReachMessage(results []Reached) (string, error) {
	for i := range results {
		r := &results[i]
		r.URL, r.Problem = plaintext.Line(r.URL, maxReachURL), plaintext.Line(r.Problem, maxReachProblem)
		r.Addresses = r.Addresses[:min(len(r.Addresses), 2)]
	}
	text, err := json.Marshal(results)
	return string(text), err
}

// ParseReach reads that termination message.
func ParseReach(message string) (results []Reached, err error) {
	return results, json.Unmarshal([]byte(message), &results)
}
