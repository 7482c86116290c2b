package runs

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/tests/junit"
)

// JunitOptions write a report for the CI system.
type JunitOptions struct{ File string }

func (o *JunitOptions) AddJUnitFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.File, "junit", "", "write the JUnit reports of the tests to this `file`, as one, for the CI system to show")
}

// CheckJUnit makes sure that the file can be written before anything starts.
func (o *JunitOptions) CheckJUnit() error {
	if o.File == "" {
		return nil
	}
	folder := filepath.Dir(o.File)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("--junit %q: there is no folder %s. Create it", o.File, folder)
	}
	return nil
}

// WriteJUnit writes the report, if there is to be one. What cannot be read is left out, with a note.
func (o *JunitOptions) WriteJUnit(ctx context.Context, console *cli.Console, source ArtifactSource, runs []*client.Run) error {
	if o.File == "" {
		return nil
	}
	temporary, err := os.MkdirTemp("", "postflight-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }() // what stays is the system's to clean up
	root, err := os.OpenRoot(temporary)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written to it any more
	return replaceFile(o.File, func(to *bufio.Writer) error {
		report, err := junit.NewWriter(to)
		if err != nil {
			return err
		}
		merger := &junitMerger{report, console, source, root, map[string]bool{}}
		for _, r := range runs {
			prefix := ""
			if len(runs) > 1 {
				prefix = r.Trigger + ": "
			}
			if err := merger.addRun(ctx, r, prefix); err != nil {
				return err
			}
		}
		console.Note("Wrote %s: tests %d, failed %d.", o.File, report.Tests, report.Failures)
		return report.Close()
	})
}

// replaceFile writes a file as a whole or not at all.
func replaceFile(name string, write func(*bufio.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(name), ".postflight-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // unless it was renamed
	to := bufio.NewWriter(file)
	if err := errors.Join(write(to), to.Flush(), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// junitMerger adds the reports of runs.
type junitMerger struct {
	*junit.Writer

	console *cli.Console
	source  ArtifactSource
	folder  *os.Root        // for files on their way
	seen    map[string]bool // reports, by pod and digest
}

// addRun adds the reports among the files of a run. A run without one, or whose end its reports do not explain, is a
// test itself, so that the CI system shows it.
func (m *junitMerger) addRun(ctx context.Context, r *client.Run, prefix string) error {
	before := m.Report
	if r.Artifacts != nil && r.Artifacts.Count > 0 {
		for a, err := range m.source.Artifacts(ctx, r.ID, "") {
			if err != nil {
				m.console.Note("Reports of the run %s are missing. %v", r.ID, err)
				break
			}
			if !junit.IsReport(a.Path) {
				continue
			}
			if err := m.addReport(ctx, r.ID, a, prefix); err != nil {
				return err
			}
		}
	}
	if r.Results != nil && r.Results.Quarantined > 0 {
		if err := m.AddProperties(prefix+r.Trigger, quarantined(r.Results)); err != nil {
			return err
		}
	}
	failure := ""
	if !state.Of(r.State).Green {
		failure = strings.TrimSuffix(r.State+": "+r.Message, ": ")
	}
	if m.Tests == before.Tests || failure != "" && m.Failures == before.Failures {
		return m.AddCase(prefix+r.Trigger, r.ID, cli.Clean(failure))
	}
	return nil
}

// quarantined counts the quarantined failures, and names the first of them. In the reports, they are failures like others.
func quarantined(r *client.TestResults) []junit.Property {
	all := []junit.Property{{Name: "postflight.quarantined", Value: strconv.Itoa(int(r.Quarantined))}}
	for _, f := range r.Failures {
		if f.Quarantine != "" {
			all = append(all, junit.Property{Name: "postflight.quarantine." + f.Quarantine, Value: cli.Clean(f.Name)})
		}
	}
	return all
}

// addReport adds a report, and notes what could not be read of it. A copy of another report of the same pod adds nothing.
func (m *junitMerger) addReport(ctx context.Context, run string, a client.Artifact, prefix string) error {
	const name = "report.xml"
	if err := m.source.Download(ctx, run, a, client.Destination{Dir: m.folder, Name: name, Overwrite: true}); err != nil {
		m.console.Note("The report %s of the run %s is left out: %v", a.Path, run, err)
		return nil
	}
	file, err := m.folder.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	known, err := m.isCopy(a.Pod, file)
	if known || err != nil {
		return err
	}
	added, err := m.Add(file, prefix)
	if err != nil && !errors.Is(err, junit.ErrNoReport) {
		m.console.Note("Run %s: %s", run, junit.Problem(a.Path, added.Tests, err))
	}
	return nil
}

func (m *junitMerger) isCopy(pod string, file io.ReadSeeker) (bool, error) {
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return false, err
	}
	key := pod + "/" + string(digest.Sum(nil))
	known := m.seen[key]
	m.seen[key] = true
	_, err := file.Seek(0, io.SeekStart)
	return known, err
}
