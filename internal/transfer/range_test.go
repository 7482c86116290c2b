package transfer_test

import (
	"testing"

	"github.com/postflight-dev/postflight/internal/transfer"
)

func TestFirstByte(t *testing.T) {
	for name, tc := range map[string]struct {
		status       int
		contentRange string
		want         int64
	}{
		"the whole file":        {200, "", 0},
		"a part":                {206, "bytes 5-9/10", 5},
		"of unknown size":       {206, "bytes 5-9/*", 5},
		"as rclone sends it":    {200, "bytes 5-9/10", 5},
		"a part without a word": {206, "", -1},
		"other units":           {206, "lines 5-9/10", -1},
		"nothing":               {206, "bytes */10", -1},
	} {
		if got := transfer.FirstByte(tc.status, tc.contentRange); got != tc.want {
			t.Errorf("%s: it begins at %d, want %d", name, got, tc.want)
		}
	}
}
