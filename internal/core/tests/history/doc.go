// Package history makes what is known of tests over many runs: all tests of a run from the logs of its pods, the summary of a day from the
// runs of that day, and from the summaries of many days the history of a test and the insights of a team. It is pure. The same runs make
// the same bytes, so that a summary can be made again at any time.
package history
