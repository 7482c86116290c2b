// Package fetch downloads the input files of a run into a directory: resumable, checked, in constant
// memory. The init container of a run's pod does nothing else.
//
// A signed URL is a secret: no error, log line or message of this package holds one.
package fetch
