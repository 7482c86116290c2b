//go:build linux

package node

import "testing"

func TestMountPoint(t *testing.T) {
	cases := map[string]struct{ reason, line, want string }{
		"Plain":   {"the fifth field", "36 35 98:0 /mnt1 /a/.dev/node/x rw,noatime master:1 - ext3 /dev/root rw", "/a/.dev/node/x"},
		"Escaped": {"spaces are written in octal", `36 35 98:0 / /my\040home/.dev rw - tmpfs tmpfs rw`, "/my home/.dev"},
		"Broken":  {"a short line is none", "36 35", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := mountPoint(tc.line); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
