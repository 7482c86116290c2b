// Package archive keeps in the object store what runs leave behind: their records, logs, results and artifacts. Keys
// and the shape of records are those of package record.
//
// No object here can be named by an input or an upload, and none is ever changed after it was complete, except that
// the same log or record may be saved again.
package archive
