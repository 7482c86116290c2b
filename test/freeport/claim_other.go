//go:build !unix

package freeport

import "os"

// claim cannot keep other processes from a port here: nobody else will pick it, most probably.
func claim(path string) (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666) }
