package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// source is the commit that a release is built from.
type source struct {
	Commit string
	Date   time.Time
}

// readSource asks git. $SOURCE_DATE_EPOCH replaces the date of the commit.
func readSource(ctx context.Context, root string, allowDirty bool) (source, error) {
	changed, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if changed != "" && !allowDirty {
		return source{}, fmt.Errorf("files differ from the commit:\n%s", changed)
	}
	text, err := git(ctx, root, "show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return source{}, err
	}
	commit, epoch, _ := strings.Cut(text, " ")
	if changed != "" {
		commit += "-dirty"
	}
	if set := os.Getenv("SOURCE_DATE_EPOCH"); set != "" {
		epoch = set
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("the date of the commit: %w", err)
	}
	return source{commit, time.Unix(seconds, 0).UTC()}, nil
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
