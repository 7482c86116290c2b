// Package job writes a run as a Kubernetes Job, and reads back what it wrote: Build makes the Job, WithInputs, WithResults and others add
// to it. These never change the Job that they get: they return a copy, or the Job itself if there is nothing to add. Package outcome reads
// what became of the Job.
package job
