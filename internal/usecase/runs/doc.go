// Package runs reads runs from the cache, their logs from pods, and what they left behind from the archive.
package runs
