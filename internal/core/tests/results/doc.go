// Package results reads counts and failures from JUnit XML, and merges the reports of all pods of a run. It is pure.
// The collector in each pod makes a Document, which it uploads, and a Summary, which fits into the pod's termination message. These, and
// the reports, come from the team's own containers, so everything that is read here is bounded and cleaned.
package results
