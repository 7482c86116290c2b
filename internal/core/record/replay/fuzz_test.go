package replay_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/record/replay"
)

// FuzzParse: any text is Triggers that can be compared, or an error that a person can read.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		head + "metadata: {name: smoke}\nspec: {environment: staging}\n---\nkind: Environment\n", "---\n---", "{", "a: &a [*a]", bomb(), "\xff", "kind: Trigger\napiVersion: [1]\n",
		head + "metadata: {name: smoke}\nspec: {environment: staging, match: {expression: ']', branches: ['[', '!']}}\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		triggers, _, err := replay.Parse([]byte(text))
		if err != nil {
			if invalid, ok := errors.AsType[*replay.InvalidError](err); !ok || strings.ContainsAny(invalid.Message, "\n\r\x1b") || len(invalid.Message) > 1000 {
				t.Fatalf("the error is %q", err)
			}
			return
		}
		for _, changed := range triggers {
			_, _ = replay.New(changed, nil)
		}
	})
}
