// Package job is a run as a Kubernetes Job: Build makes the Job, WithInputs and WithResults add files, and Observe derives the run's state.
package job
