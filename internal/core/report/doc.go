// Package report decides what a code host shows about a run, when, and where. Its adapters are in the folders github and gitlab.
package report
