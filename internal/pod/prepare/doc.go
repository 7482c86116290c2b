// Package prepare puts small files and a copy of its own program in place for the tests, in the pod of a run.
package prepare
