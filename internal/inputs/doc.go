// Package inputs stores the files that runs need in an S3 store: it signs the URLs by which CI uploads
// them and pods download them, and looks them up.
//
// Signing only needs the credentials: it opens no connection, and works while the store is down. Looking
// up a file, checking health and creating the bucket send requests.
//
// Signed URLs and credentials are secrets: no error, log line or metric contains them.
package inputs
