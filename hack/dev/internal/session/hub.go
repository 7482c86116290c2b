package session

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"text/template"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// The team of a named cluster trusts the manager of the cluster without a name, its hub. Its Environments are called staging-NAME and so
// on: the hub has the same team, whose Environments are others.

//go:embed hub.yaml
var hubManifest string

var hubTemplate = template.Must(template.New("hub").Parse(hubManifest))

//go:embed names.yaml
var nameReferences []byte

// addHub adds to the samples what a named cluster needs.
func (s *Session) addHub(o *overlay) error {
	name := s.layout.Name()
	if name == "" {
		return nil
	}
	var policy bytes.Buffer
	err := hubTemplate.Execute(&policy, map[string]string{"Issuer": layout.HubIssuer, "Audience": s.url(), "Subject": managerUser})
	if err != nil {
		return err
	}
	o.Resources = append(o.Resources, "hub.yaml")
	o.Transformers, o.Configurations = []string{"suffix.yaml"}, []string{"names.yaml"}
	o.files = map[string][]byte{
		"hub.yaml":   policy.Bytes(),
		"names.yaml": nameReferences,
		"suffix.yaml": []byte(document(map[string]any{
			"apiVersion": "builtin", "kind": "PrefixSuffixTransformer", "metadata": map[string]string{"name": "suffix"},
			"suffix": "-" + name, "fieldSpecs": []map[string]string{{"kind": "Environment", "path": "metadata/name"}},
		})),
	}
	return nil
}

// issuers returns the content of the file for --token-issuers, or nil if there is no hub. address is one of the hub's API server, which
// has its public keys.
func (s *Session) issuers(address func(hub layout.Plan) string) ([]byte, error) {
	hub, exists := s.layout.Hub()
	if !exists {
		return nil, nil
	}
	plan, err := hub.LoadPlan()
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(hub.Path("pki", "ca.crt"))
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(map[string]any{"issuers": []map[string]any{{
		"name": "hub", "url": layout.HubIssuer, "jwksURL": "https://" + address(plan) + "/openid/v1/jwks", "ca": string(ca),
		"audiences": []string{s.url()},
	}}}, "", "  ")
}

func hubOnLoopback(hub layout.Plan) string { return hub.Loopback(layout.PortAPIServer) }

// hubOnBridge is for pods, which reach this machine at all its addresses.
func hubOnBridge(hub layout.Plan) string { return hub.OnBridge(layout.PortAPIServer) }

const issuersName = "postflight-dev-issuers"

// issuersMap holds the list of issuers for the manager's pods.
func issuersMap(issuers []byte) []byte {
	return []byte(document(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]string{"name": issuersName, "namespace": systemNamespace},
		"data": map[string]string{"issuers.yaml": string(issuers)},
	}))
}

// mountIssuers includes a digest, because managers read the list at their start.
func mountIssuers(issuers []byte) string {
	add := func(path string, value any) map[string]any {
		return map[string]any{"op": "add", "path": "/spec/template/" + path, "value": value}
	}
	return document([]map[string]any{
		add("metadata/annotations/postflight.dev~1issuers", fmt.Sprintf("%x", sha256.Sum256(issuers))),
		add("spec/volumes/-", map[string]any{"name": "issuers", "configMap": map[string]string{"name": issuersName}}),
		add("spec/containers/0/volumeMounts/-", map[string]string{"name": "issuers", "mountPath": "/etc/postflight-dev"}),
		add("spec/containers/0/args/-", "--token-issuers=/etc/postflight-dev/issuers.yaml"),
	})
}
