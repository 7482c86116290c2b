package suite

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// VariablesDigest returns the SHA-256 of variables as a JSON object, sorted by name and without spaces, as jq -cSj prints it.
func VariablesDigest(variables map[string]string) string {
	if variables == nil {
		variables = map[string]string{}
	}
	var content bytes.Buffer
	out := json.NewEncoder(&content)
	out.SetEscapeHTML(false)
	_ = out.Encode(variables) // a map of strings is always JSON
	return fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.TrimSuffix(content.Bytes(), []byte("\n"))))
}
