// Package insights decides what the pages of the runs of a period and of their tests show: figures, plots, and how each test did. All text
// in them is untrusted; html/template escapes it.
package insights
