package docs

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/test/fakecluster"
)

const aTeam = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: postflight.dev/v1alpha1
kind: Team
metadata: {name: shop}
`

// below returns the blocks of a page, from a heading to the next.
func below(t *testing.T, page, heading string) (blocks []Block) {
	t.Helper()
	_, all := Read(t, page)
	for _, b := range all {
		if b.Heading == heading {
			blocks = append(blocks, b)
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block below %q", page, heading)
	}
	return blocks
}

// TestWorkloads follows docs/workloads.md with a Deployment that runs already: its commit is known, and explain says why nothing tests it.
func TestWorkloads(t *testing.T) {
	sh := newShell(t)
	start, try := below(t, "docs/workloads.md", "Test what is rolled out"), below(t, "docs/workloads.md", "Try it")
	sh.save(t, "team.yaml", aTeam)
	sh.save(t, "environment.yaml", start[0].Text)
	sh.run(t, "kubectl apply -f team.yaml")
	d := fakecluster.Deployment{Client: sh.server.Client, Namespace: "shop", Name: "shop"}
	d.Next()
	const sha = "9c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f6a7b8c9d"
	for _, step := range []func() error{
		func() error { return d.Set(t.Context(), sha) }, func() error { return d.Complete(t.Context(), sha) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	binding, rest, _ := strings.Cut(start[1].Text, "kubectl get")
	sh.run(t, "kubectl apply -f environment.yaml\n"+binding+"\nkubectl wait --for=condition=Ready --timeout=180s environment/staging -n shop")
	if out := sh.run(t, "kubectl get"+rest); strings.Count(out, sha[:12]) < 2 {
		t.Errorf("the commit is not shown twice:\n%s", out)
	}
	out := sh.run(t, try[0].Text)
	for _, want := range []string{"rolled out", "It is not tested, because its rollout was not notified: when it was complete, the Environment saw these workloads for the first time, ",
		"notify --no-detect --sha " + sha + " --branch main --type staging --repository acme/shop"} {
		if strings.Count(out, want) < 2 { // of the Environment, and of the file
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestKeyless follows docs/keyless.md for pods of the cluster, with a token in place of that of a pod. The shell has a key of another team.
func TestKeyless(t *testing.T) {
	sh := newShell(t)
	sh.save(t, "team.yaml", aTeam)
	sh.save(t, "binding.yaml", below(t, "docs/keyless.md", "Allow it")[0].Text)
	sh.run(t, "kubectl apply -f team.yaml -f binding.yaml\n"+
		"kubectl wait --for=condition=Ready --timeout=180s team/shop")
	for _, b := range below(t, "docs/keyless.md", "Send the token") {
		if b.Language == "sh" {
			if out := sh.run(t, b.Text); !strings.Contains(out, "shop") || !strings.Contains(out, "deploy-hooks") {
				t.Errorf("the sender is not known:\n%s", out)
			}
		}
	}
}

// TestEvents follows docs/events.md with an event that the reader signs, in place of one of GitHub.
func TestEvents(t *testing.T) {
	sh := newShell(t)
	sh.save(t, "team.yaml", strings.ReplaceAll(aTeam, "shop", "acme"))
	blocks := below(t, "docs/events.md", "A webhook of your repository or organization")
	sh.save(t, "source.yaml", blocks[1].Text)
	out := sh.run(t, "kubectl apply -f team.yaml\n"+blocks[0].Text+"\nkubectl apply -f source.yaml\n"+
		"kubectl wait --for=condition=Ready --timeout=180s team/acme eventsource/github -n acme\n"+blocks[2].Text)
	answer := strings.TrimSpace(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:])
	if answer != "{}" && !strings.HasPrefix(answer, `{"results":[{"trigger_id":`) { // the Trigger of another page may match
		t.Errorf("the event is not accepted:\n%s", out)
	}
}

// TestOnboarding makes the folders of docs/onboarding.md, and applies them.
func TestOnboarding(t *testing.T) {
	sh := newShell(t)
	_, blocks := Read(t, "docs/onboarding.md")
	for _, b := range blocks {
		if b.File != "" {
			sh.save(t, b.File, b.Text)
		}
	}
	sh.save(t, "teams/search/kustomization.yaml", "namespace: search\nresources: [../common]\n")
	class, _, _ := strings.Cut(below(t, "docs/triggers.md", "Shared parts")[0].Text, "---\n")
	sh.save(t, "class.yaml", class)
	key, _, _ := strings.Cut(below(t, "docs/onboarding.md", "A key, as a hash in Git")[0].Text, "\n")
	sh.run(t, "kubectl apply -f class.yaml\n"+key)
	for _, b := range blocks {
		if strings.HasPrefix(b.Text, "kubectl apply -k") {
			sh.run(t, b.Text)
		}
	}
	sh.run(t, "kubectl wait --for=condition=Ready --timeout=180s team/shop trigger/e2e apikey/ci -n shop")
}
