// Package inputs keeps the files that runs need in an object store that speaks S3: it signs the URLs
// by which CI uploads them and pods download them, and looks them up.
//
// Signing is arithmetic over the credentials: it opens no connection, and works while the store is
// down. What asks the store is looking up a file, its health, and the creation of the bucket.
//
// Signed URLs and credentials are secrets: neither is ever part of an error, a log line or a metric.
package inputs
