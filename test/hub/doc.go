// Package hub tests a hub in front of a cluster: two real API servers, each with processes of the manager, and a proxy between them
// that loses, repeats and delays. No node is needed, because no pods run.
package hub
