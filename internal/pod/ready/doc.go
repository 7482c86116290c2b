// Package ready waits in the init container of a run's pods until the version under test answers: in bounded time and memory, without
// credentials.
package ready
