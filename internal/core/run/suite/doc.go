// Package suite is the life of a run as pure functions: a Trigger and a Notification become a Suite (New), Suites have an order in their
// stream and queue (Compare, Queue), and what exists decides what to do about a Suite (Decide).
package suite
