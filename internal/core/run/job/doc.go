// Package job writes a run as a Kubernetes Job, and reads back what it wrote: Build makes the Job, WithInputs, WithResults and others add to it.
// What became of the Job is for package outcome.
package job
