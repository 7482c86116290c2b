package session

import (
	"bytes"
	"context"
	_ "embed"
	"os"
	"text/template"

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

//go:embed join.yaml
var joinManifest string

var joinTemplate = template.Must(template.New("join").Parse(joinManifest))

const joined = "join.yaml" // in the folder of the cluster, from the time when the hub knows it

// joinHub applies to the hub, if that runs, what it has to know of this cluster.
func (s *Session) joinHub(ctx context.Context) error {
	hub, exists := s.layout.Hub()
	if !exists || ReadMode(s.layout) == ModeNone {
		return nil
	}
	return s.console.Step("hub", func(*console.Step) (string, error) {
		if !serves(hub) {
			return hub.Dir + " is not ready; later, `" + s.layout.Make("up") + "` makes it the hub of this cluster", nil
		}
		manifest, err := s.joining()
		if err != nil {
			return "", err
		}
		name := s.layout.Name()
		return hub.Dir + " has the Cluster " + name + " and the Environment staging-" + name,
			s.applyFile(ctx, joined, manifest, inCluster(hub))
	})
}

func (s *Session) joining() ([]byte, error) {
	var manifest bytes.Buffer
	err := joinTemplate.Execute(&manifest, map[string]string{"Name": s.layout.Name(), "URL": s.url()})
	return manifest.Bytes(), err
}

func inCluster(l layout.Layout) string { return "--kubeconfig=" + l.Kubeconfig("admin") }

func serves(l layout.Layout) bool { return ReadState(l, Supervisor(l)).Phase == Ready }

// HubOf returns the hub that knows a cluster, and whether it is ready.
func HubOf(l layout.Layout) (hub layout.Layout, knows, ready bool) {
	hub, exists := l.Hub()
	_, err := os.Stat(l.Path(joined))
	return hub, exists && err == nil, serves(hub)
}

// LeaveHub removes from the hub what it knows of a cluster whose data are removed: it would hand on to it for ever.
func LeaveHub(ctx context.Context, l layout.Layout, c *console.Console) error {
	hub, knows, ready := HubOf(l)
	switch {
	case !knows:
		return nil
	case !ready:
		c.Warn("%s is not ready, and still knows the Cluster %[2]s: delete it there, and the Environment staging-%[2]s of the team %[3]s",
			hub.Dir, l.Name(), team)
		return nil
	}
	return c.Step("hub", func(*console.Step) (string, error) {
		return hub.Dir + " has forgotten this cluster",
			(&Session{layout: l}).kubectl(ctx, "delete", "--ignore-not-found", inCluster(hub), "-f", l.Path(joined))
	})
}
