// Package results reads the reports of tests: counts and failures from JUnit XML, which failures are new, and what all
// pods of a run make together.
//
// It is pure. The collector in each pod makes a Document, which it uploads, and a Summary, which fits into the pod's
// termination message. The leader merges the summaries of all pods. Reports and termination messages come from the
// team's own containers, so everything that is read here is bounded and cleaned.
package results
