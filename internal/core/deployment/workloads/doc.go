// Package workloads says what an Environment has of each repository: what its workloads run, or else what was notified last. It is pure:
// objects of the cluster in, a status out.
package workloads
