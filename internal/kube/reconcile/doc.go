// Package reconcile has what several reconcilers need: typed reads, watches and their predicates, retries, and writes of
// statuses and conditions.
package reconcile
