// Package fetch downloads the input files of a run into a directory. Downloads resume, are checked, and
// take constant memory. This is all that the init container of a run's pod does.
//
// A signed URL is a secret: no error, log line or message of this package contains one.
package fetch
