package pki

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
)

// WriteKubeconfig writes a kubeconfig with which the holder of DIR/FILE.crt talks to server. The
// credentials are inside, so that the file works from everywhere.
func (a *Authority) WriteKubeconfig(path, server, file string) error {
	contents := make([]string, 0, 3)
	for _, name := range []string{a.name + ".crt", file + ".crt", file + ".key"} {
		raw, err := os.ReadFile(filepath.Join(a.dir, name))
		if err != nil {
			return err
		}
		contents = append(contents, base64.StdEncoding.EncodeToString(raw))
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: postflight-dev
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %s
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: postflight-dev
  context: {cluster: postflight-dev, user: %s}
current-context: postflight-dev
`, server, contents[0], file, contents[1], contents[2], file)
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
