// Package cli is the command line, but for the flags: what each command does, and what it prints.
//
// Results go to standard output, and with -o json only JSON does; progress and hints go to standard
// error. Commands that gate a pipeline end with the codes of exit.go.
package cli
