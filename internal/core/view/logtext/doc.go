// Package logtext decides how the pages show a log: which part of it, in which groups and colours, and where a text or a test is in it.
// All text in it is untrusted; html/template escapes it.
package logtext
