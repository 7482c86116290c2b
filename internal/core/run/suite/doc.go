// Package suite is the identity of runs: a Trigger and a Notification become a Suite (New), whose name and stream follow from what it
// tests.
package suite
