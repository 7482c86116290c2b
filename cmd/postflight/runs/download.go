package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

// parallelDownloads hides the time that each file waits for the store.
const parallelDownloads = 4

type DownloadOptions struct {
	Options
	dir, pod string
	force    bool
}

func newArtifactsDownload() *cobra.Command {
	o := &DownloadOptions{}
	cmd := &cobra.Command{
		Use:   "download RUN [PATTERN...]",
		Short: "Download the files of a run",
		Long: `Downloads the files of a run into a folder with its name, or into --dir, and keeps their paths. If they come from
several pods, each pod has a folder of its own. Patterns choose files by their paths: "*.png" in any folder, "report"
for all below a folder, "**" for any number of folders.

Nothing outside of the folder is written, and nothing is replaced without --force. A file has its name once it is
complete.

Exit codes: 0 every file is there, 1 some are not, or none matches, 3 the command line is wrong.`,
		Example: `  # Everything, into ./smoke-3f9c2k7q5x0a1b2c
  postflight runs artifacts download smoke-3f9c2k7q5x0a1b2c

  # The HTML report and all screenshots, into ./failed
  postflight runs artifacts download smoke-3f9c2k7q5x0a1b2c --dir failed playwright-report '*.png'`,
		Args:    cobra.MinimumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error { return checkPatterns(args[1:]) },
		RunE:    o.command(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0], args[1:]) }),
	}
	cmd.Flags().StringVarP(&o.dir, "dir", "d", "", "folder for the files; default: the id of the run")
	cmd.Flags().StringVar(&o.pod, "pod", "", "only the files of this pod")
	cmd.Flags().BoolVar(&o.force, "force", false, "replace files that exist")
	o.addFlags(cmd)
	return cmd
}

// Downloaded is what -o json prints of a file.
type Downloaded struct {
	Path  string `json:"path"`
	Pod   string `json:"pod,omitempty"`
	Bytes int64  `json:"bytes"`
	File  string `json:"file,omitempty"`  // where it is
	Error string `json:"error,omitempty"` // why it is not

	artifact client.Artifact
	name     string // below the folder
}

func (o *DownloadOptions) Run(ctx context.Context, id string, patterns []string) error {
	all, _, err := cli.Collect(o.Source.Artifacts(ctx, id, o.pod), 0)
	if err != nil {
		return err
	}
	files := planDownload(all, patterns)
	if len(files) == 0 {
		return fmt.Errorf("no file of the run %s matches. \"postflight runs artifacts list %s\" shows its %d files", id, id, len(all))
	}
	o.dir = cmp.Or(o.dir, filepath.Base(id))
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written to it any more
	o.download(ctx, id, files, root)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return o.report(files)
}

// download fills in what became of each file.
func (o *DownloadOptions) download(ctx context.Context, id string, files []Downloaded, root *os.Root) {
	var total int64
	for _, f := range files {
		total += f.Bytes
	}
	o.Console.SetDrawing(true)
	defer o.Console.SetDrawing(false)
	bar := o.Console.BytesBar(total, fmt.Sprintf("%d files", len(files)))
	defer func() { _ = bar.Close() }() // a failed redraw does no harm
	var group errgroup.Group
	group.SetLimit(parallelDownloads)
	for i := range files {
		group.Go(func() error {
			files[i].fetch(ctx, o, id, root, bar)
			return nil // one file does not stop the others
		})
	}
	_ = group.Wait()
}

func (f *Downloaded) fetch(ctx context.Context, o *DownloadOptions, id string, root *os.Root, bar *progressbar.ProgressBar) {
	if f.Error != "" || ctx.Err() != nil {
		return
	}
	err := o.Source.Download(ctx, id, f.artifact, client.Destination{Dir: root, Name: f.name, Overwrite: o.force, Progress: bar})
	switch {
	case err == nil:
		f.File = filepath.Join(o.dir, f.name)
	case errors.Is(err, os.ErrExist):
		f.Error = fmt.Sprintf("%s exists. --force replaces it", filepath.Join(o.dir, f.name))
	default:
		f.Error = err.Error()
	}
}

func (o *DownloadOptions) report(files []Downloaded) error {
	var total int64
	failed := 0
	for _, f := range files {
		if f.Error != "" {
			failed++
			o.Console.Note("%s: %s", f.Path, f.Error)
			continue
		}
		total += f.Bytes
	}
	o.Console.Note("Downloaded %d of %d files, %s, to %s", len(files)-failed, len(files), cli.Size(total), o.dir)
	if o.Console.JSON {
		if err := o.Console.WriteJSON(files); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files could not be downloaded; the reasons are above", failed, len(files))
	}
	return nil
}

// planDownload says under which names the files that match are stored. The paths may be hostile.
func planDownload(all []client.Artifact, patterns []string) []Downloaded {
	files := []Downloaded{}
	pods := map[string]bool{}
	for _, a := range all {
		if matchesAny(patterns, a.Path) {
			files = append(files, Downloaded{Path: a.Path, Pod: a.Pod, Bytes: a.Bytes, artifact: a})
			pods[a.Pod] = true
		}
	}
	for i := range files {
		f := &files[i]
		place := f.Path
		if len(pods) > 1 {
			place = f.Pod + "/" + f.Path
		}
		var err error
		if f.name, err = localName(place); err != nil {
			f.Error = err.Error()
		}
	}
	return files
}

// localName is a path as the system writes it, if it stays below the folder and names a file on this system.
func localName(name string) (string, error) {
	if !fs.ValidPath(name) || name == "." || strings.ContainsFunc(name, isControl) || !utf8.ValidString(name) {
		return "", fmt.Errorf("its path is not that of a file below a folder")
	}
	local, err := filepath.Localize(name) // refuses what Windows reserves, there
	if err != nil {
		return "", fmt.Errorf("this system cannot have a file of that name")
	}
	return local, nil
}

func isControl(r rune) bool { return r < ' ' || r == '\x7f' }

func checkPatterns(patterns []string) error {
	for _, pattern := range patterns {
		if !doublestar.ValidatePattern(pattern) {
			return fmt.Errorf("the pattern %q is not valid: * stands for any text, ** for any folders, [a-z] and {a,b} for a choice", pattern)
		}
	}
	return nil
}

// matchesAny reports whether a pattern matches a path, its name, or a folder of it.
func matchesAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
		anywhere := !strings.Contains(pattern, "/") && doublestar.MatchUnvalidated(pattern, path.Base(name))
		if anywhere || doublestar.MatchUnvalidated(pattern, name) || doublestar.MatchUnvalidated(pattern+"/**", name) {
			return true
		}
	}
	return len(patterns) == 0
}
