// Package announce decides what is said about a run, and to whom: to the webhooks of its Team, and to the chat of its
// Trigger. The adapter in the folder webhook sends it.
package announce
