// Package assets serves files that pages load. Their paths contain the hash of their content, so that browsers keep them for ever.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/postflight-dev/postflight/internal/server/compress"
)

// Assets are files by name.
type Assets struct{ byName map[string]asset }

type asset struct {
	hash        string
	contentType string
	content     []byte
	compressed  []byte
}

// Load reads the files of a folder.
func Load(files fs.FS, folder string) (*Assets, error) {
	a := &Assets{byName: map[string]asset{}}
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		content, err := fs.ReadFile(files, path.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		if err := a.Add(entry.Name(), content); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Add adds a file.
func (a *Assets) Add(name string, content []byte) error {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, writeErr := z.Write(content)
	if err := z.Close(); err != nil || writeErr != nil {
		return fmt.Errorf("compress %s: %w", name, err)
	}
	sum := sha256.Sum256(content)
	a.byName[name] = asset{
		hash: hex.EncodeToString(sum[:6]), contentType: mime.TypeByExtension(path.Ext(name)),
		content: content, compressed: out.Bytes(),
	}
	return nil
}

// Path returns the path of a file, without the base path.
func (a *Assets) Path(name string) string { return "/assets/" + a.byName[name].hash + "/" + name }

// Serve answers a request for a file, and reports whether it exists. A hash of an earlier version gets the current content, uncached.
func (a *Assets) Serve(w http.ResponseWriter, r *http.Request) bool {
	file, known := a.byName[r.PathValue("name")]
	if !known {
		return false
	}
	if r.PathValue("hash") == file.hash {
		const year = 365 * 24 * time.Hour
		w.Header().Set("Cache-Control", "public, immutable, max-age="+strconv.Itoa(int(year.Seconds())))
	}
	w.Header().Set("Content-Type", file.contentType)
	w.Header().Set("Vary", "Accept-Encoding")
	body := file.content
	if compress.Accepts(r) {
		w.Header().Set("Content-Encoding", "gzip")
		body = file.compressed
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
	return true
}
