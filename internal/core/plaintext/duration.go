package plaintext

import (
	"strings"
	"time"
)

// Duration formats a duration as people write it: 1m30s for 90s, 30m for 1800s.
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
