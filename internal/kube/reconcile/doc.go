// Package reconcile has what several reconcilers need of the API server: typed reads, watches and their predicates, and writes
// of statuses and conditions.
package reconcile
