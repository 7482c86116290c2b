// Package reach is the termination message of a pod that postflight doctor lets try the URLs that runs need.
package reach

import (
	"encoding/json"
	"time"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// MaxURLs is how many results fit into a termination message, which the kubelet cuts after 4,096 bytes.
const MaxURLs = 8

const (
	// These are in bytes; the results of all addresses fit even if every byte is escaped once.
	maxURL     = 100
	maxProblem = 100
)

// Result is what a pod found out about one URL. It travels to the command line in the pod's termination message.
type Result struct {
	URL       string        `json:"url"`
	Addresses []string      `json:"addresses,omitempty"` // at most two
	Status    int           `json:"status,omitempty"`    // of HTTP; 0: there was no answer
	Ahead     time.Duration `json:"ahead,omitempty"`     // how far the clock of the pod is ahead of the server's, in whole seconds
	Problem   string        `json:"problem,omitempty"`   // why there was no answer
	Untrusted bool          `json:"untrusted,omitempty"` // there was a server, whose certificate the pod does not trust
}

// Message returns the termination message of a pod that tried URLs.
func Message(results []Result) (string, error) {
	for i := range results {
		r := &results[i]
		r.URL, r.Problem = plaintext.Line(r.URL, maxURL), plaintext.Line(r.Problem, maxProblem)
		r.Addresses = r.Addresses[:min(len(r.Addresses), 2)]
	}
	text, err := json.Marshal(results)
	return string(text), err
}

// Parse reads that termination message.
func Parse(message string) (results []Result, err error) {
	return results, json.Unmarshal([]byte(message), &results)
}
