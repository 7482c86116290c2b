package reconcile

import "strings"

// maxNote is the API server's bound on the note of an event, in bytes.
const maxNote = 1024

// ClipNote shortens the note of an event.
func ClipNote(note string) string {
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-len("…")], "") + "…"
}
