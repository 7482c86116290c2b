// Package cli has what all commands share: the terminal, exit codes, and how runs and tests are printed.
package cli
