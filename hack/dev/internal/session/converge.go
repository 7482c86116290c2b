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

	"github.com/postflight-dev/postflight/hack/dev/internal/images"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

// converge makes the cluster hold what the checkout says: manifests, images, the manager, samples.
// It is the last part of the start, and all of a refresh.
func (s *Session) converge(ctx context.Context) error {
	if s.state.Serial > 0 && s.options.Node {
		if err := s.loadImages(ctx); err != nil {
			return err
		}
	}
	if err := s.applyManifests(ctx); err != nil {
		return err
	}
	if err := s.convergeManager(ctx); err != nil {
		return err
	}
	return s.applySamples(ctx)
}

// convergeManager makes the manager run where the mode says.
func (s *Session) convergeManager(ctx context.Context) error {
	mode := ReadMode(s.layout)
	want := ""
	if mode == ModeProcess {
		digest, err := fileDigest(s.layout.Bin("manager"))
		if os.IsNotExist(err) {
			s.console.Warn("there is no bin/manager: the cluster runs without it")
			return nil
		}
		if err != nil {
			return err
		}
		want = digest
	}
	if want != s.runningManager {
		s.stopManager()
	}
	switch mode {
	case ModeProcess:
		return s.startManager(ctx, want)
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

// startManager does nothing if the manager runs from this binary already.
func (s *Session) startManager(ctx context.Context, digest string) error {
	s.stopForwardingService()
	if s.runningManager == digest {
		return nil
	}
	step := s.console.Step("manager")
	s.runningManager = digest
	if err := s.keep(s.manager()).WaitReady(ctx, time.Minute); err != nil {
		step.Fail()
		return err
	}
	step.Done("%s", s.url())
	return nil
}

// rollout waits for the manager's pods.
func (s *Session) rollout(ctx context.Context) error {
	step := s.console.Step("manager pods")
	err := s.kubectl(ctx, "rollout", "status", "deployment/"+managerName, "--namespace", systemNamespace, "--timeout=120s")
	if err == nil && len(s.serviceListeners) == 0 {
		err = s.forwardService()
	}
	if err != nil {
		step.Fail()
		return err
	}
	step.Done("%s", s.url())
	return nil
}

func fileDigest(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

func (s *Session) loadImages(ctx context.Context) error {
	_, err := images.Loader{Layout: s.layout, Tools: s.tools}.Load(ctx)
	return err
}

// kubectl runs kubectl as the cluster's admin; its complaints become the error.
func (s *Session) kubectl(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.layout.Bin("cluster", "kubectl"), args...)
	cmd.Env = append(s.environment(), "KUBECONFIG="+s.layout.Kubeconfig("admin"))
	var complaints strings.Builder
	cmd.Stderr = &complaints
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(complaints.String()))
	}
	return nil
}

// apply gives the server a folder of manifests. Server-side apply takes back what someone changed
// by hand.
func (s *Session) apply(ctx context.Context, folder string) error {
	return s.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--field-manager=postflight-dev", "-k", folder)
}
