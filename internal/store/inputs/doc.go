// Package inputs keeps the files that runs need in the object store: it signs the URLs by which CI uploads them and
// pods download them, and looks them up.
package inputs
