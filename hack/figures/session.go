package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// run compares, prints, and returns an error if something is worse.
func (c *comparing) run(ctx context.Context) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	here := tree{root, "new", strings.Fields(c.wrapper)}
	changed, err := changedFiles(ctx, here, c.base)
	if err != nil {
		return err
	}
	all, err := packages(ctx, here, "./...")
	if err != nil {
		return err
	}
	origins := map[string]*origin{}
	var rows []row
	for _, r := range c.rows {
		if origins[r.folder] == nil {
			if origins[r.folder], err = findOrigin(ctx, here, r, all); err != nil {
				return err
			}
		}
		if c.when != "change" || origins[r.folder].touched(changed) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		fmt.Fprintln(os.Stderr, "figures: no program of a benchmark contains what has changed")
		return nil
	}
	if err := os.MkdirAll(filepath.Join(root, ".test"), 0o755); err != nil { //nolint:gosec // others may read what tests leave
		return err
	}
	base, remove, err := checkOut(ctx, here, c.base)
	defer remove()
	if err != nil {
		return err
	}
	b := builder{here, base, origins, changed, map[string]*program{}}
	contests, err := b.contests(ctx, rows, c.when != "hand")
	if err != nil {
		return err
	}
	return c.compete(ctx, contests)
}

// compete runs the rounds and prints what they show.
func (c *comparing) compete(ctx context.Context, contests []*contest) error {
	var end time.Time
	if c.time > 0 {
		end = time.Now().Add(c.time)
	}
	if err := turns(ctx, contests, c.when == "hand", end, os.Stderr); err != nil {
		return err
	}
	var all []comparison
	var bad []string
	for _, contest := range contests {
		switch {
		case contest.failed != nil:
			bad = append(bad, contest.failed.Error())
		case len(contest.list) == 0:
			fmt.Fprintf(os.Stderr, "figures: %s printed no figure, or there was no time for it\n", contest.row.name())
		}
		all = append(all, contest.list...)
	}
	for _, line := range all {
		fmt.Println(line)
		if line.verdict == worse {
			bad = append(bad, line.String())
		}
	}
	if err := c.history(all); err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("worse than %s:\n%s", c.base, strings.Join(bad, "\n"))
	}
	return nil
}

// history prints the row of a release.
func (c *comparing) history(all []comparison) error {
	if c.release == "" {
		return nil
	}
	page, err := os.ReadFile(historyFile)
	if err != nil {
		return err
	}
	row, err := historyRow(string(page), c.release, all)
	if err == nil {
		fmt.Println(row)
	}
	return err
}

// changedFiles are those in which the working tree differs from a commit.
func changedFiles(ctx context.Context, t tree, base string) ([]string, error) {
	tracked, err := t.output(ctx, "git", "diff", "--name-only", "--no-renames", base)
	if err != nil {
		return nil, err
	}
	others, err := t.output(ctx, "git", "ls-files", "--others", "--exclude-standard")
	return append(lines(tracked), lines(others)...), err
}

// builder compiles what rows need, each program once.
type builder struct {
	here, base tree
	origins    map[string]*origin
	changed    []string
	programs   map[string]*program
}

// contests leaves out the rows whose programs are the same in both commits, if so asked: to compare them shows what the machine does.
func (b builder) contests(ctx context.Context, rows []row, distinct bool) (all []*contest, err error) {
	if err := b.servers(ctx, rows); err != nil {
		return nil, err
	}
	for _, r := range rows {
		c := &contest{row: r, values: map[id]series{}, unfair: b.origins[r.folder].unfair(b.changed)}
		if c.now, err = b.build(ctx, b.here, r); err != nil {
			return nil, err
		}
		if c.base, err = b.build(ctx, b.base, r); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			fmt.Fprintf(os.Stderr, "figures: the base has no %s: %v\n", r.name(), err)
			all = append(all, c)
			continue
		}
		switch equal, err := b.equal(r, c); {
		case err != nil:
			return nil, err
		case equal && distinct:
			fmt.Printf("COMPARE row=%q verdict=%s reason=\"both commits have the same programs\"\n", r.name(), same)
		default:
			all = append(all, c)
		}
	}
	return all, nil
}

func (b builder) build(ctx context.Context, t tree, r row) (*program, error) {
	key := t.name + " " + r.folder
	if p := b.programs[key]; p != nil {
		return &program{t, r, p.path}, nil
	}
	p, err := t.build(ctx, r)
	if err == nil {
		b.programs[key] = p
	}
	return p, err
}

// servers builds the servers and managers of the base, if benchmarks run these. The working tree has its own by make.
func (b builder) servers(ctx context.Context, rows []row) error {
	var targets []string
	for _, r := range rows {
		o := b.origins[r.folder]
		if o.server || o.store {
			targets = append(targets, "assets")
		}
		if o.manager {
			targets = append(targets, "manager")
		}
	}
	if len(targets) == 0 {
		return nil
	}
	_, err := b.base.output(ctx, "make", targets...)
	return err
}

func (b builder) equal(r row, c *contest) (bool, error) {
	o := b.origins[r.folder]
	for _, file := range b.changed { // programs may read these
		if !strings.HasSuffix(file, ".go") && o.touched([]string{file}) {
			return false, nil
		}
	}
	equal, err := sameFile(c.now.path, c.base.path)
	if err != nil || !equal || !o.manager {
		return equal, err
	}
	return sameFile(filepath.Join(b.here.root, "bin/manager"), filepath.Join(b.base.root, "bin/manager"))
}

// runOnce prints the figures of the working tree.
func runOnce(ctx context.Context, rows []row) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	var failed error
	for _, r := range rows {
		p, err := tree{root: root, name: "new"}.build(ctx, r)
		if err != nil {
			return err
		}
		result, err := p.run(ctx, os.Stderr)
		if err == nil && len(result.readings) == 0 {
			err = fmt.Errorf("%s printed no figure", r.name())
		}
		failed = errors.Join(failed, err)
		fmt.Print(figureLines(result.output))
	}
	return failed
}
