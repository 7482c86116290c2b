// Package replicas tests the answers that clients get from several manager processes with one real API server, and a
// proxy between them that loses answers and connections. No node is needed, because no pods run.
package replicas
