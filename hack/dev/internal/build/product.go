package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Product builds this repository's own programs into bin/: manager, postflight and the demo shop.
// Those whose sources do not exist are left out, and without the manager only the shop is built. A
// warm Go cache makes it a second.
func (b Builder) Product(ctx context.Context, manager bool) error {
	if err := os.MkdirAll(b.Layout.Bin(), 0o755); err != nil {
		return err
	}
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()
	var built []string
	step := b.Console.Step("Postflight")
	for _, program := range []struct{ name, pkg string }{
		{"manager", "cmd/manager"}, {"postflight", "cmd/postflight"}, {"demo-shop", "hack/demo/shop"},
	} {
		if sources, _ := filepath.Glob(filepath.Join(b.Layout.Root, program.pkg, "*.go")); len(sources) == 0 || (!manager && program.name != "demo-shop") {
			continue
		}
		step.Update("compiling %s; the first time takes about 3 minutes", program.name)
		if err := b.program(ctx, program.name, "./"+program.pkg); err != nil {
			step.Fail()
			return err
		}
		built = append(built, "bin/"+program.name)
	}
	step.Done("%s", strings.Join(built, ", "))
	return nil
}

// program leaves the last good binary alone if the sources do not compile. The output is given to go
// build itself, which links only if that is out of date. The flags are those of `make manager`.
func (b Builder) program(ctx context.Context, name, pkg string) error {
	cmd := goCommand(ctx, b.Layout.Root, "build", "-trimpath", "-buildvcs=false", "-o", b.Layout.Bin(name), pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, strings.TrimSpace(string(out)))
	}
	return nil
}
