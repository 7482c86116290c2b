// Package view decides what the pages of runs, Triggers and teams show, and how all pages write times, states and links. It is pure, and
// templates only lay out its results. All text in them is untrusted; html/template escapes it.
package view
