package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/images"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

// applyAll applies images, manifests, the manager and samples of the checkout.
func (s *Session) applyAll(ctx context.Context) error {
	if s.state.Serial > 0 && s.options.Node {
		if err := s.loadImages(ctx); err != nil {
			return err
		}
	}
	if err := s.applyManifests(ctx); err != nil {
		return err
	}
	if err := s.applyManager(ctx); err != nil {
		return err
	}
	if err := s.applySamples(ctx); err != nil {
		return err
	}
	return s.joinHub(ctx)
}

// applyManager runs the manager in the chosen mode, from the current binary and list of issuers.
func (s *Session) applyManager(ctx context.Context) error {
	mode, digest := ReadMode(s.layout), ""
	var issuers []byte
	if mode == ModeProcess {
		program, err := os.ReadFile(s.layout.Bin("manager"))
		if err != nil {
			return err
		}
		if issuers, err = s.issuers(hubOnLoopback); err != nil {
			return err
		}
		sum := sha256.Sum256(append(program, issuers...))
		digest = hex.EncodeToString(sum[:])
	}
	if digest != s.runningManager {
		s.stopManager()
	}
	switch mode {
	case ModeProcess:
		return s.startManager(ctx, digest, issuers)
	case ModePod:
		return s.rollout(ctx)
	}
	return nil
}

func (s *Session) stopManager() {
	s.stopGroup([]string{"manager"})
	s.children = slices.DeleteFunc(s.children, func(c *proc.Child) bool { return c.Name == "manager" })
	s.runningManager = ""
}

// startManager does nothing if the manager runs from this binary and list already.
func (s *Session) startManager(ctx context.Context, digest string, issuers []byte) error {
	s.stopForwardingService()
	if s.runningManager == digest {
		return nil
	}
	s.runningManager = digest
	return s.console.Step("manager", func(*console.Step) (string, error) {
		manager := s.manager()
		if issuers != nil {
			file := s.layout.Path("issuers.yaml")
			if err := layout.WriteFile(file, issuers, 0o644); err != nil {
				return "", err
			}
			manager.Args = append(manager.Args, "--token-issuers="+file)
		}
		return s.url(), s.keep(manager).WaitReady(ctx, time.Minute)
	})
}

func (s *Session) rollout(ctx context.Context) error {
	return s.console.Step("manager pods", func(*console.Step) (string, error) {
		err := s.kubectl(ctx, "rollout", "status", "deployment/"+managerName, "--namespace", systemNamespace, "--timeout=120s")
		if err == nil && s.serviceProxy == nil {
			err = s.forwardService(ctx)
		}
		return s.url(), err
	})
}

func (s *Session) loadImages(ctx context.Context) error {
	_, err := images.Loader{Layout: s.layout, Tools: s.tools}.Load(ctx)
	return err
}

func (s *Session) kubectl(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.layout.Bin("cluster", "kubectl"), args...)
	cmd.Env = append(s.environment(), "KUBECONFIG="+s.layout.Kubeconfig("admin"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return nil
}
