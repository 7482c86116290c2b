package pki

import (
	"encoding/json"
	"os"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// WriteKubeconfig writes a kubeconfig with the credentials of DIR/FILE.crt, so that it may be copied. JSON is YAML.
func (a *Authority) WriteKubeconfig(path, server, file string) error {
	contents := map[string][]byte{} // encoding/json writes bytes in base64, as a kubeconfig wants them
	for _, name := range []string{a.name + ".crt", file + ".crt", file + ".key"} {
		content, err := os.ReadFile(a.file(name))
		if err != nil {
			return err
		}
		contents[name] = content
	}
	const cluster = "postflight-dev"
	type object = map[string]any
	text, err := json.MarshalIndent(object{
		"apiVersion": "v1",
		"kind":       "Config",
		"clusters": []object{{"name": cluster, "cluster": object{
			"server": server, "certificate-authority-data": contents[a.name+".crt"]}}},
		"users": []object{{"name": file, "user": object{
			"client-certificate-data": contents[file+".crt"], "client-key-data": contents[file+".key"]}}},
		"contexts":        []object{{"name": cluster, "context": object{"cluster": cluster, "user": file}}},
		"current-context": cluster,
	}, "", "  ")
	if err != nil {
		return err
	}
	return layout.WriteFile(path, text, 0o600)
}
