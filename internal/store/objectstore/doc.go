// Package objectstore signs URLs, and reads, writes, lists and deletes objects of an S3 bucket. It alone imports minio-go.
//
// Signing opens no connection, and works while the store is down. Everything else fails at once while the store does not answer.
//
// Signed URLs and credentials are secrets: no error, log line or metric contains them.
package objectstore
