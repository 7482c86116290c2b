package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/postflight-dev/postflight/internal/core/view"
)

//go:embed static
var staticFiles embed.FS

// assets are the files that pages load. Their paths contain the hash of their content, so that browsers keep them
// for ever.
type assets struct{ byName map[string]asset }

type asset struct {
	hash        string
	contentType string
	content     []byte
	compressed  []byte
}

func loadAssets() (*assets, error) {
	a := &assets{byName: map[string]asset{}}
	files, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		content, err := staticFiles.ReadFile("static/" + file.Name())
		if err != nil {
			return nil, err
		}
		if err := a.add(file.Name(), content); err != nil {
			return nil, err
		}
	}
	for key := range stateShapes {
		if err := a.add("state-"+key+".svg", stateFavicon(key)); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *assets) add(name string, content []byte) error {
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

// path is where a page loads the asset from, without the base path.
func (a *assets) path(name string) string { return "/assets/" + a.byName[name].hash + "/" + name }

// icon is the path of the icon of a document: that of a state, or Postflight's own.
func (u *UI) icon(key string) string {
	if _, known := stateShapes[key]; known {
		return u.public.Base + u.assets.path("state-"+key+".svg")
	}
	return u.public.Base + u.assets.path("favicon.svg")
}

// serveAsset needs no session: what it serves is the same for everybody. A hash of an earlier version, which an open
// page may still ask for, gets the current content, which browsers do not keep.
func (u *UI) serveAsset(w http.ResponseWriter, r *http.Request) {
	a, known := u.assets.byName[r.PathValue("name")]
	if !known {
		failPlainly(w, http.StatusNotFound, "There is no such file.")
		return
	}
	if r.PathValue("hash") == a.hash {
		const year = 365 * 24 * time.Hour
		w.Header().Set("Cache-Control", "public, immutable, max-age="+strconv.Itoa(int(year.Seconds())))
	}
	w.Header().Set("Content-Type", a.contentType)
	w.Header().Set("Vary", "Accept-Encoding")
	body := a.content
	if acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		body = a.compressed
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

func (u *UI) serveFavicon(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, u.public.Base+u.assets.path("favicon.svg"), http.StatusFound)
}

// stateFavicon is the icon of a state as a file, for the tab of a run.
func stateFavicon(key string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" color="%s" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">%s</svg>`,
		stateColors[key], stateShapes[key])
}

// stateKeys are the keys of all states, and that of none.
func stateKeys() []string {
	keys := []string{view.NoRun.Key}
	for _, s := range view.States() {
		keys = append(keys, s.Key)
	}
	return keys
}
