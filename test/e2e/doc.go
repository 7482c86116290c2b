// Package e2e holds the end-to-end tests: real pods on the development cluster, the manager's own
// binary, killed and started again, and the client that is published for the notification endpoint.
//
// They need root on Linux, and say so where they are skipped; see README.md.
package e2e
