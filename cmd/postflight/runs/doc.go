// Package runs has the commands about runs.
package runs
