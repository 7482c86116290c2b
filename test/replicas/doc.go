// Package replicas tests what clients see: several manager processes before one real API server,
// with a proxy between them that loses answers and goes away. No node is needed: nothing runs.
package replicas
