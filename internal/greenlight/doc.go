// Package greenlight says what a pipeline is told of a run it waits for: whether it may go on.
//
// It is pure: a run and the run that counts for it in, the answer out. The names of the fields are
// those that existing clients read.
package greenlight
