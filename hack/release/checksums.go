package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
)

const checksumsName = "checksums.txt"

// writeChecksums writes checksums.txt, and returns the hash of that. The image's index covers the rest of the image.
func (r release) writeChecksums() (string, error) {
	entries, err := os.ReadDir(r.Output)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() {
			name += "/index.json"
		}
		sum, err := sha256File(r.path(name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	if err := os.WriteFile(r.path(checksumsName), []byte(b.String()), 0o644); err != nil {
		return "", err
	}
	return sha256File(r.path(checksumsName))
}

func sha256File(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
