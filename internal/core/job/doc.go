// Package job is a run as a Kubernetes Job: Build makes the Job of a Suite, WithInputs and WithResults add files, and Observe
// derives the state of the run from the Job and its pods.
package job
