// Package view decides what the run pages show of Suites, Triggers and Environments. It is pure: the time is an
// argument, and templates only lay out what its functions return. All text in them is untrusted; html/template
// escapes it.
package view
