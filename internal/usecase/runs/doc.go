// Package runs reads runs, wherever they are: Suites from the cache, logs from pods, and what runs left behind from the
// archive. The HTTP API and the pages share it.
package runs
