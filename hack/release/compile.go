package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/image"
)

type platform struct{ OS, Architecture string }

var cliPlatforms = []platform{
	{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

func (p platform) String() string { return p.OS + "_" + p.Architecture }

func (p platform) executable(name string) string {
	if p.OS == "windows" {
		return name + ".exe"
	}
	return name
}

const versionPackage = "github.com/postflight-dev/postflight/internal/core/text/version"

// linkerFlags stamp the version, and leave out what only debuggers need.
func (r release) linkerFlags() string {
	stamp := func(name, value string) string { return " -X " + versionPackage + "." + name + "=" + value }
	return "-s -w" + stamp("version", r.Version) + stamp("commit", r.Source.Commit) + stamp("date", r.Source.Date.Format(time.RFC3339))
}

// buildVariables fix what changes a build, besides sources and Go's version. Empty ones would fall back to `go env -w`.
func (r release) buildVariables(p platform) []string {
	return []string{
		"GOENV=off", "GOOS=" + p.OS, "GOARCH=" + p.Architecture, "CGO_ENABLED=0",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=" + r.FIPS140, "GOFLAGS=", "GOWORK=off",
	}
}

// kept variables may come from `go env -w`: they say where modules and toolchains come from, and go.sum what those are.
var kept = []string{
	"GOAUTH", "GOCACHE", "GOINSECURE", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOPATH", "GOPRIVATE", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN",
}

func (r release) environment(ctx context.Context, p platform) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, kept...)...)
	cmd.Dir = r.Root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(out, &values); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	variables := os.Environ()
	for name, value := range values {
		variables = append(variables, name+"="+value)
	}
	return append(variables, r.buildVariables(p)...), nil
}

func (r release) compileAll(ctx context.Context, work string) error {
	programs := map[platform][]string{}
	for _, p := range r.Platforms {
		programs[p] = []string{"postflight"}
	}
	for _, architecture := range r.Architectures {
		programs[platform{"linux", architecture}] = image.Programs
	}
	for p, names := range programs {
		if err := r.compile(ctx, work, p, names); err != nil {
			return err
		}
	}
	return nil
}

func (r release) compile(ctx context.Context, work string, p platform, names []string) error {
	folder := filepath.Join(work, p.String())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=" + r.linkerFlags(), "-o", folder + string(filepath.Separator)}
	for _, name := range names {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.Root
	variables, err := r.environment(ctx, p)
	if err != nil {
		return err
	}
	cmd.Env = variables
	fmt.Fprintf(os.Stderr, "==> %s for %s\n", strings.Join(names, ", "), p)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building for %s: %w\n%s", p, err, out)
	}
	return nil
}

func binaries(work, architecture string) []string {
	folder := filepath.Join(work, platform{"linux", architecture}.String())
	paths := slices.Clone(image.Programs)
	for i, name := range paths {
		paths[i] = filepath.Join(folder, name)
	}
	return paths
}
