package view

import (
	"path"
	"strings"
)

// FileKind is how a page shows a file.
type FileKind struct {
	Name        string // image, video or page; empty for a file that is only downloaded
	ContentType string
}

// FileKindOf returns the kind of a file by its extension.
func FileKindOf(name string) FileKind { return fileKinds[strings.ToLower(path.Ext(name))] }

var fileKinds = map[string]FileKind{
	".png": {"image", "image/png"}, ".jpg": {"image", "image/jpeg"}, ".jpeg": {"image", "image/jpeg"},
	".gif": {"image", "image/gif"}, ".webp": {"image", "image/webp"}, ".avif": {"image", "image/avif"},
	".webm": {"video", "video/webm"}, ".mp4": {"video", "video/mp4"},
	".html": {"page", "text/html; charset=utf-8"}, ".htm": {"page", "text/html; charset=utf-8"},
	".svg": {"page", "image/svg+xml"}, ".css": {"page", "text/css"}, ".js": {"page", "text/javascript"},
	".txt": {"page", "text/plain; charset=utf-8"}, ".log": {"page", "text/plain; charset=utf-8"},
	".md": {"page", "text/plain; charset=utf-8"}, ".json": {"page", "application/json"}, ".xml": {"page", "text/plain; charset=utf-8"},
}
