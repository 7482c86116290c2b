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

// convergeManager runs the manager as a process, anew if its binary has changed.
func (s *Session) convergeManager(ctx context.Context) error {
	want := ""
	if ReadMode(s.layout) == ModeProcess {
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
	if want == s.runningManager {
		return nil
	}
	s.stopGroup([]string{"manager"})
	s.children = slices.DeleteFunc(s.children, func(c *proc.Child) bool { return c.Name == "manager" })
	s.runningManager = want
	if want == "" {
		return nil
	}
	step := s.console.Step("manager")
	if err := s.keep(s.manager()).WaitReady(ctx, time.Minute); err != nil {
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
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// apply gives the server a folder of manifests. Server-side apply takes back what someone changed
// by hand.
func (s *Session) apply(ctx context.Context, folder string) error {
	return s.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--field-manager=postflight-dev", "-k", folder)
}
