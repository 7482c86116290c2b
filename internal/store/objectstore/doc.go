// Package objectstore is a bucket of an S3 store: it signs URLs, and reads, writes, lists and deletes objects by
// their keys. It does not know what the objects are. It is the only package that imports minio-go.
//
// Signing only needs the credentials: it opens no connection, and works while the store is down. Everything else
// sends requests, and fails at once while the store does not answer.
//
// Signed URLs and credentials are secrets: no error, log line or metric contains them.
package objectstore
