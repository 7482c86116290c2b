// Package suite is the life of a run as pure functions: how a Trigger and a Notification become a
// Suite (New), in which order the Suites of a stream and of a queue stand (Compare, Queue), and what
// to do about a Suite given what exists (Decide). Time is an argument, and nothing here does I/O.
package suite
