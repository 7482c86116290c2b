// Package outcome reads what became of a run: Observe derives its state from the status of its Job, which package job made, and from its pods.
package outcome
