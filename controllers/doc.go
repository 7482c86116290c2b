// Package controllers holds the reconcilers, one file per kind. Each observes what exists, asks a pure
// package what to do, applies the answer and reports it; none of them decides anything itself.
package controllers
