// Package report decides what a code host shows about a run: the check, when to post it, and where to. Adapters post
// it: see the folders github and gitlab.
package report
