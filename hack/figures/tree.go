package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// tree is a checkout with the programs of its benchmarks.
type tree struct {
	root    string   // absolute
	name    string   // of its programs: base or new
	wrapper []string // a command that runs benchmarks, or none
}

// program is a compiled benchmark.
type program struct {
	tree tree
	row  row
	path string
}

// build compiles the benchmarks of a row.
func (t tree) build(ctx context.Context, r row) (*program, error) {
	if _, err := os.Stat(filepath.Join(t.root, r.folder)); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(filepath.Join(".test/figures", t.name, strings.ReplaceAll(r.folder, "/", "_")+".test"))
	if err != nil {
		return nil, err
	}
	_, err = t.output(ctx, "go", "test", "-c", "-o", path, "./"+r.folder)
	return &program{t, r, path}, err
}

// output runs a command in the tree.
func (t tree) output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, tail(stderr.String()))
	}
	return out, err
}

// tail is the end of what a program printed, which says why it failed.
func tail(text string) string {
	const most = 2000
	return strings.TrimSpace(text[max(0, len(text)-most):])
}

// result is what the benchmarks of a row printed.
type result struct {
	output   string
	readings []reading
}

// run runs the benchmarks once, and writes what they print to log, too.
func (p *program) run(ctx context.Context, log io.Writer) (result, error) {
	const hangs = 20 * time.Minute // a benchmark takes five at most, on a busy machine twice as long
	ctx, cancel := context.WithTimeout(ctx, hangs)
	defer cancel()
	command := append(slices.Clone(p.tree.wrapper), p.path, "-test.run", "^$", "-test.bench", p.row.benchmarks,
		"-test.benchtime", p.row.benchtime, "-test.benchmem", "-test.timeout", "0")
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = filepath.Join(p.tree.root, p.row.folder)
	cmd.Env = environment(os.Environ())
	var output, complaints bytes.Buffer
	cmd.Stdout = io.MultiWriter(&output, log)
	cmd.Stderr = io.MultiWriter(&complaints, log)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return result{}, fmt.Errorf("%s of %s: %w\n%s", p.row.name(), p.tree.name, err, tail(complaints.String()+output.String()))
	}
	r := result{output.String(), parse(output.String())}
	if len(r.readings) > 0 && strings.HasSuffix(p.row.benchtime, "x") { // or it calls until the time is over
		cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
		r.readings = append(r.readings, reading{id{"PROCESS", "row=" + p.row.name(), "cpu_seconds"}, cpu})
	}
	return r, nil
}

// environment leaves out what changes figures: servers that both commits would share, and a cache that keeps each object twice.
func environment(all []string) (kept []string) {
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "POSTFLIGHT_TEST_SERVERS", "POSTFLIGHT_TEST_CHANGE", "KUBE_CACHE_MUTATION_DETECTOR":
		default:
			kept = append(kept, v)
		}
	}
	return kept
}

// checkOut makes a worktree of the commit. The caller removes it by the function, even if there is an error.
func checkOut(ctx context.Context, here tree, commit string) (base tree, remove func(), err error) {
	const folder = ".test/base"
	base = tree{filepath.Join(here.root, folder), "base", here.wrapper}
	clean := func() {
		_, _ = here.output(context.WithoutCancel(ctx), "git", "worktree", "remove", "--force", folder) // there may be none
	}
	clean() // what a killed comparison has left
	if _, err := here.output(ctx, "git", "worktree", "add", "--force", "--detach", folder, commit); err != nil {
		return base, clean, err
	}
	return base, clean, base.shareTools(here)
}

// shareTools links what is built from other projects and named by the hash of its sources, so that `make assets` builds only
// what the commits have in different versions.
func (t tree) shareTools(from tree) error {
	if err := os.Mkdir(filepath.Join(t.root, "bin"), 0o755); err != nil {
		return err
	}
	shared, err := filepath.Glob(filepath.Join(from.root, "bin", "*-????????????"))
	if err != nil {
		return err
	}
	for _, path := range append(shared, filepath.Join(from.root, "bin/node"), filepath.Join(from.root, "bin/nft")) {
		if _, err := os.Stat(path); err == nil {
			if err := os.Symlink(path, filepath.Join(t.root, "bin", filepath.Base(path))); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameFile reports whether two files have the same bytes.
func sameFile(a, b string) (bool, error) {
	var sums [2][sha256.Size]byte
	for i, path := range []string{a, b} {
		file, err := os.Open(path)
		if err != nil {
			return false, err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, file)
		if err := errors.Join(err, file.Close()); err != nil {
			return false, err
		}
		copy(sums[i][:], hash.Sum(nil))
	}
	return sums[0] == sums[1], nil
}
