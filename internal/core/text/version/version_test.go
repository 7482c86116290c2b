package version

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescribe(t *testing.T) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	for name, c := range map[string]struct {
		version, commit, date string // of the linker
		build                 debug.BuildInfo
		want                  Info
		text                  string
	}{
		"a release has what the linker set": {
			version: "v1.2.3", commit: "0123456789abcdef", date: "2026-01-02T03:04:05Z",
			build: debug.BuildInfo{
				Main:     debug.Module{Version: "v9.9.9"},
				Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "fedc"}, {Key: "vcs.time", Value: "2025-01-02T03:04:05Z"}},
			},
			want: Info{Version: "v1.2.3", Commit: "0123456789abcdef", Date: "2026-01-02T03:04:05Z"},
			text: "v1.2.3 (commit 0123456789ab, 2026-01-02T03:04:05Z) " + platform,
		},
		"go install has the version of the module": {
			build: debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}},
			want:  Info{Version: "v1.2.3"},
			text:  "v1.2.3 " + platform,
		},
		"a build from a clone may have its commit": {
			build: debug.BuildInfo{
				Main:     debug.Module{Version: "(devel)"},
				Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "fedc"}},
			},
			want: Info{Version: "devel", Commit: "fedc"},
			text: "devel (commit fedc) " + platform,
		},
		"a build that records nothing": {want: Info{Version: "devel"}, text: "devel " + platform},
	} {
		t.Run(name, func(t *testing.T) {
			version, commit, date = c.version, c.commit, c.date
			t.Cleanup(func() { version, commit, date = "", "", "" })
			got := describe(&c.build)
			c.want.Go, c.want.Platform = runtime.Version(), platform
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got.String() != c.text {
				t.Errorf("got %q, want %q", got, c.text)
			}
		})
	}
}
