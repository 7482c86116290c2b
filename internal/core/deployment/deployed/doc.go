// Package deployed says what an Environment has of each repository: from its workloads, or else from the notifications of its runs. It is
// pure: objects of the cluster in, a status out.
package deployed
