// Package controllers holds the reconcilers, one file per kind. Each observes what exists, lets a pure
// package decide, acts, and reports the result in the status.
package controllers
