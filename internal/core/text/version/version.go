// Package version says which build of Postflight this is.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// The linker sets these in a release: -X github.com/postflight-dev/postflight/internal/core/text/version.version=v1.2.3
var version, commit, date string

// Info describes a build.
type Info struct {
	// Version is the release, such as v1.2.3, the module's with `go install`, or "devel".
	Version string `json:"version"`
	// Commit and Date (RFC 3339) describe the sources. They are empty unless the build recorded them.
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Get describes this build.
func Get() Info { return current() }

// current parses the build info once: it is long, and each request to another server names the version.
var current = sync.OnceValue(func() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return describe(build)
})

// describe prefers what the linker set to what Go recorded.
func describe(build *debug.BuildInfo) Info {
	settings := map[string]string{}
	for _, s := range build.Settings {
		settings[s.Key] = s.Value
	}
	module := build.Main.Version
	if module == "(devel)" {
		module = ""
	}
	return Info{
		Version:  cmp.Or(version, module, "devel"),
		Commit:   cmp.Or(commit, settings["vcs.revision"]),
		Date:     cmp.Or(date, settings["vcs.time"]),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// String returns one line for people, such as "v1.2.3 (commit 0123456789ab, 2026-01-02T03:04:05Z) linux/amd64".
func (i Info) String() string {
	var source []string
	if i.Commit != "" {
		source = append(source, "commit "+i.Commit[:min(12, len(i.Commit))])
	}
	if i.Date != "" {
		source = append(source, i.Date)
	}
	text := i.Version
	if len(source) > 0 {
		text += " (" + strings.Join(source, ", ") + ")"
	}
	return text + " " + i.Platform
}

// UserAgent names a program in the logs of the servers that it calls.
func UserAgent(program string) string { return program + "/" + Get().Version }
