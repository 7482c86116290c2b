// Package payload changes recorded payloads, for tests of decoders.
package payload

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Values are members of a payload by their path, such as deployment.sha. A nil value takes the member away.
type Values map[string]any

// Recorded is a payload in the folder testdata of the package that is tested.
func Recorded(t testing.TB, file string) []byte {
	t.Helper()
	body, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// With is a recorded payload with other values.
func With(t testing.TB, file string, changes Values) []byte {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal(Recorded(t, file), &whole); err != nil {
		t.Fatal(err)
	}
	for path, value := range changes {
		at := whole
		names := strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			at = at[name].(map[string]any)
		}
		if last := names[len(names)-1]; value == nil {
			delete(at, last)
		} else {
			at[last] = value
		}
	}
	body, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
