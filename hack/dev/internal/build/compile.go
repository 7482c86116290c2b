package build

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
)

type compilation struct {
	name, hint     string
	source, output string
	pkg            string // default "."
	flags          []string
}

// lock keeps two builds (make up and make test on a fresh clone) from doing the same work at once.
func (b Builder) lock() (func(), error) {
	file, err := os.OpenFile(b.Layout.Bin(".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	held := func() bool { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
	for range 20 { // usually someone only looks whether something is to be built
		if held() {
			return func() { file.Close() }, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	step := b.Console.Step("waiting")
	step.Update("for another build in this checkout")
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		step.Fail()
		return nil, err
	}
	step.Done("for another build in this checkout")
	return func() { file.Close() }, nil
}

// compile runs go build and shows how many packages it has been through. The output appears whole
// or not at all.
func (b Builder) compile(ctx context.Context, c compilation) error {
	step := b.Console.Step(c.name)
	step.Update("%s", c.hint)
	if err := b.build(ctx, c, step); err != nil {
		step.Fail()
		return fmt.Errorf("building %s: %w", c.name, err)
	}
	step.Done("%s", strings.TrimPrefix(c.output, b.Layout.Root+"/"))
	return nil
}

func (b Builder) build(ctx context.Context, c compilation, step *console.Step) error {
	if c.pkg == "" {
		c.pkg = "."
	}
	if err := os.MkdirAll(filepath.Dir(c.output), 0o755); err != nil {
		return err
	}
	total := countPackages(ctx, c)
	partial := c.output + ".partial"
	// Said explicitly, so that Go's cache serves whatever GOFLAGS the caller has.
	args := append([]string{"build", "-v", "-buildvcs=false", "-trimpath=false", "-o", partial}, c.flags...)
	cmd := goCommand(ctx, c.source, append(args, c.pkg)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	said := follow(stderr, func(packages int) {
		step.Update("%d of at most %d packages compiled; %s", packages, total, c.hint)
	})
	if err := cmd.Wait(); err != nil {
		return errors.Join(err, errors.New(strings.TrimSpace(said)))
	}
	return os.Rename(partial, c.output)
}

// follow counts the package paths that go build -v prints, one per line, and returns the other
// lines: downloads and complaints.
func follow(stderr io.Reader, progress func(packages int)) string {
	var other bytes.Buffer
	packages := 0
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "go: downloading"):
		case strings.ContainsAny(line, " \t:"), line == "":
			fmt.Fprintln(&other, line)
		default:
			packages++
			progress(packages)
		}
	}
	return other.String()
}

func countPackages(ctx context.Context, c compilation) int {
	out, err := goCommand(ctx, c.source, "list", "-deps", c.pkg).Output()
	if err != nil {
		return 0 // go build is about to say what is wrong
	}
	return bytes.Count(out, []byte("\n"))
}

func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd
}
