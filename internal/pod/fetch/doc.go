// Package fetch downloads the input files of a run, in the init container of its pods: in constant memory, resumed and checked.
//
// A signed URL is a secret: no error, log line or message of this package contains one.
package fetch
