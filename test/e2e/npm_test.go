package e2e

import (
	"testing"

	"github.com/postflight-dev/postflight/test/published"
)

// npmClient notifies with the published client.
func npmClient(t *testing.T) func(config map[string]any) map[string]any {
	t.Helper()
	return published.Script(t, "npm", "notify.mjs")
}

// npmUpload uploads a file with it.
func npmUpload(t *testing.T) func(config map[string]any) map[string]any {
	t.Helper()
	return published.Script(t, "npm", "upload.mjs")
}
