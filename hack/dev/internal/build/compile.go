package build

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

type compilation struct {
	name, hint     string
	source, output string
	packages       string // "tool": the tools of go.mod, into a folder; "": the module's own package
	flags          []string
	programs       []string // names of a multi-call binary
}

// lock keeps parallel builds, for example of make up and make test, from doing the same work.
func (b Builder) lock() (*os.File, error) {
	if err := os.MkdirAll(b.Layout.Bin(), 0o755); err != nil {
		return nil, err
	}
	return layout.Lock(b.Layout.Bin(".lock"), func() { b.Console.Println("  waiting for another build in this checkout") })
}

// compile runs go build. The output appears only when it is complete.
func (b Builder) compile(ctx context.Context, c compilation) error {
	return b.Console.Step(c.name, func(step *console.Step) (string, error) {
		step.Update("%s", c.hint)
		if err := c.run(ctx, step); err != nil {
			return "", fmt.Errorf("building %s: %w", c.name, err)
		}
		return strings.TrimPrefix(c.output, b.Layout.Root+"/"), nil
	})
}

func (c compilation) run(ctx context.Context, step *console.Step) error {
	if err := os.MkdirAll(filepath.Dir(c.output), 0o755); err != nil {
		return err
	}
	packages := cmp.Or(c.packages, ".")
	all, _ := goCommand(ctx, c.source, "list", "-deps", packages).Output() // go build reports errors
	partial := c.output + ".partial"
	output := partial
	if c.packages != "" {
		output += "/" // for go build, a folder
	}
	args := append([]string{"build", "-v", "-o", output}, c.flags...)
	cmd := goCommand(ctx, c.source, append(args, packages)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	messages := follow(stderr, func(compiled int) {
		step.Update("%d of at most %d packages compiled; %s", compiled, bytes.Count(all, []byte("\n")), c.hint)
	})
	if err := cmd.Wait(); err != nil {
		return errors.Join(err, errors.New(strings.TrimSpace(messages)))
	}
	return os.Rename(partial, c.output)
}

// follow counts the packages that go build -v prints, and returns other lines except those about downloads.
func follow(stderr io.Reader, progress func(compiled int)) string {
	var messages strings.Builder
	compiled := 0
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "go: downloading"):
		case strings.ContainsAny(line, " \t:"), line == "":
			messages.WriteString(line + "\n")
		default:
			compiled++
			progress(compiled)
		}
	}
	return messages.String()
}

// flags are the Makefile's, so that nothing is compiled twice.
const flags = "-trimpath -buildvcs=false -gcflags=all=-dwarf=false '-toolexec=env GOGC=off GOMEMLIMIT=2GiB'"

func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+flags)
	return cmd
}
