// Package archive keeps the records, logs, results and artifacts of runs in the object store, under the keys of package record.
//
// No input or upload can name an object here, and none changes once it is complete, except that a log or record may be saved again,
// and that the lines of an hour grow.
package archive
