// Package schedule decides when the schedule of a Trigger starts runs, and which of what is deployed they test.
package schedule
