package build

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
)

// linkerFlags leave the symbols for debuggers out of what every node of a cluster pulls.
var linkerFlags = map[string]string{"collect": "-s -w"}

// Product builds the demo shop and, unless tests do that, manager, postflight and collect, with the flags of `make manager`.
func (b Builder) Product(ctx context.Context, manager bool) error {
	lock, err := b.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	programs := map[string]string{"demo-shop": "./hack/demo/shop"}
	if manager {
		programs["manager"], programs["postflight"], programs["collect"] = "./cmd/manager", "./cmd/postflight", "./cmd/collect"
	}
	return b.Console.Step("Postflight", func(step *console.Step) (string, error) {
		var built []string
		for _, name := range slices.Sorted(maps.Keys(programs)) {
			step.Update("compiling %s; the first time takes about 3 minutes", name)
			// go build links only if the output is out of date, and keeps it if the sources do not compile.
			cmd := goCommand(ctx, b.Layout.Root, "build", "-ldflags="+linkerFlags[name], "-o", b.Layout.Bin(name), programs[name])
			if out, err := cmd.CombinedOutput(); err != nil {
				return "", fmt.Errorf("building %s: %w\n%s", name, err, strings.TrimSpace(string(out)))
			}
			built = append(built, "bin/"+name)
		}
		return strings.Join(built, ", "), nil
	})
}
