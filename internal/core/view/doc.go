// Package view decides what the run pages show. It is pure, and templates only lay out its results. All text in them is untrusted;
// html/template escapes it.
package view
