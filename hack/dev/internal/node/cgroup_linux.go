package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

const cgroupMount = "/sys/fs/cgroup"

// cgroupRoots are the hierarchies: one for cgroup v2, one per controller for v1.
func cgroupRoots() []string {
	if isFilesystem(cgroupMount, unix.CGROUP2_SUPER_MAGIC) {
		return []string{cgroupMount}
	}
	entries, _ := os.ReadDir(cgroupMount)
	var roots []string
	for _, entry := range entries {
		if entry.IsDir() { // the others are links like cpu -> cpu,cpuacct
			roots = append(roots, filepath.Join(cgroupMount, entry.Name()))
		}
	}
	return roots
}

// createCgroup makes the cluster's cgroup. Without it, kubelets would remove each other's pods, and Clean could not find containers.
func createCgroup(l layout.Layout) error {
	for _, root := range cgroupRoots() {
		dir := filepath.Join(root, l.Cgroup())
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := initialise(root, dir); err != nil {
			return err
		}
	}
	return nil
}

// initialise fills the empty cpuset of v1, and enables controllers in v2.
func initialise(root, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			continue // not a cpuset, or v2, where the root has no such file
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
			return err
		}
	}
	controllers, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return nil
	}
	for _, controller := range strings.Fields(string(controllers)) {
		// One by one, because some cannot be enabled (cpu, if there are real-time processes).
		_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
	}
	return nil
}

// removeCgroup retries, because the kernel needs some milliseconds after the last process ends.
func removeCgroup(l layout.Layout) error {
	var err error
	for range 50 {
		if err = tryRemoveCgroup(l); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

func tryRemoveCgroup(l layout.Layout) error {
	var problems []error
	for _, root := range cgroupRoots() {
		var dirs []string
		_ = filepath.WalkDir(filepath.Join(root, l.Cgroup()), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) { // children before parents
			if err := unix.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				problems = append(problems, &fs.PathError{Op: "rmdir", Path: dir, Err: err})
			}
		}
	}
	return errors.Join(problems...)
}

func onOverlay(dir string) bool { return isFilesystem(dir, unix.OVERLAYFS_SUPER_MAGIC) }

func isFilesystem(dir string, magic int64) bool {
	var stat unix.Statfs_t
	return unix.Statfs(dir, &stat) == nil && stat.Type == magic
}
