package plaintext

import (
	"strings"
	"time"
)

// Duration writes a duration, rounded to seconds, without units that are zero at its end: 1m30s, 30m, 2h.
func Duration(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
