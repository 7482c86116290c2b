package peers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/test/tier"
)

const otherDigest = "0000000000000000000000000000000000000000000000000000000000000000"

// policyCase is an image with signed verdicts, and what each engine does with it.
type policyCase struct {
	verdicts []verdict
	stranger bool                                     // another key signs
	rotated  bool                                     // the last verdict is signed by a newer key, which is trusted, too
	change   func(t *testing.T, bundle []byte) []byte // after the signature
	opa      string                                   // a part of why cosign and OPA refuse; empty: they accept
	kyverno  string                                   // the same of Kyverno
}

var policyCases = map[string]policyCase{
	"passed":                 {verdicts: []verdict{{}}},
	"none":                   {opa: "has no verdict that one of the keys signed", kyverno: "no matching signatures"},
	"failed":                 {verdicts: []verdict{{result: "FAILED"}}, opa: "The newest run of the Trigger e2e is FAILED", kyverno: "The image has a verdict that is FAILED"},
	"warned":                 {verdicts: []verdict{{result: "WARNED"}}, opa: "is WARNED", kyverno: "that is WARNED"},
	"too old":                {verdicts: []verdict{{age: 25 * time.Hour}}, opa: "more than 24h ago", kyverno: "older than a day"},
	"almost too old":         {verdicts: []verdict{{age: 23 * time.Hour}}},
	"another Environment":    {verdicts: []verdict{{environment: "qa"}}, opa: "There is no verdict of the Trigger e2e in staging", kyverno: "another Environment"},
	"another Trigger":        {verdicts: []verdict{{trigger: "lint"}}, opa: "There is no verdict of the Trigger e2e", kyverno: "another Trigger"},
	"another team":           {verdicts: []verdict{{team: "web"}}, opa: "There is no verdict of the Trigger e2e in staging", kyverno: "another team"},
	"another image":          {verdicts: []verdict{{digest: otherDigest}}, opa: "has no verdict that one of the keys signed", kyverno: "no matching signatures"},
	"another key":            {verdicts: []verdict{{}}, stranger: true, opa: "has no verdict that one of the keys signed", kyverno: "no matching signatures"},
	"a changed byte":         {verdicts: []verdict{{result: "FAILED"}}, change: pass, opa: "has no verdict that one of the keys signed", kyverno: "no matching signatures"},
	"a changed subject":      {verdicts: []verdict{{digest: otherDigest}}, change: claim, opa: "has no verdict that one of the keys signed", kyverno: "no matching signatures"},
	"a withdrawn green":      {verdicts: []verdict{{age: 2 * time.Hour}, {result: "FAILED", age: time.Hour}}, opa: "is FAILED", kyverno: "that is FAILED"},
	"a withdrawn green last": {verdicts: []verdict{{result: "FAILED", age: time.Hour}, {age: 2 * time.Hour}}, opa: "is FAILED", kyverno: "that is FAILED"},
	"a red that ends last":   {verdicts: []verdict{{age: 2 * time.Hour}, {result: "FAILED", age: time.Hour, longer: 3 * time.Hour}}, opa: "is FAILED", kyverno: "that is FAILED"},
	"of one second":          {verdicts: []verdict{{attempt: 1}, {result: "FAILED", attempt: 2}}, opa: "is FAILED", kyverno: "that is FAILED"},
	"rotated keys":           {verdicts: []verdict{{age: 2 * time.Hour}, {}}, rotated: true},
	"withdrawn by a new key": {verdicts: []verdict{{age: 2 * time.Hour}, {result: "FAILED"}}, rotated: true, opa: "is FAILED", kyverno: "that is FAILED"},
	// Kyverno compares no two verdicts: each has to be good.
	"green after a red":        {verdicts: []verdict{{result: "FAILED", age: 2 * time.Hour}, {age: time.Hour}}, kyverno: "that is FAILED"},
	"a green after an old one": {verdicts: []verdict{{age: 48 * time.Hour}, {}}, kyverno: "older than a day"},
}

// pass changes the result in a signed payload, and claim the digest.
func pass(t *testing.T, bundle []byte) []byte { return forge(t, bundle, "FAILED", "PASSED") }
func claim(t *testing.T, bundle []byte) []byte {
	return forge(t, bundle, otherDigest, newRegistry(t).digest)
}

func forge(t *testing.T, bundle []byte, from, to string) []byte {
	t.Helper()
	var b object
	must(t, json.Unmarshal(bundle, &b))
	envelope := b["dsseEnvelope"].(object)
	payload, err := base64.StdEncoding.DecodeString(envelope["payload"].(string))
	must(t, err)
	changed := bytes.Replace(payload, []byte(from), []byte(to), 1)
	if bytes.Equal(changed, payload) {
		t.Fatalf("the payload has no %s", from)
	}
	envelope["payload"] = changed
	return encode(t, b)
}

// prepare serves the image of a case, and returns the keys that policies trust, the newest first.
func (c policyCase) prepare(t *testing.T) (*registry, signer) {
	t.Helper()
	r, trusted := newRegistry(t), newSigner(t)
	by := trusted
	if c.stranger {
		by = newSigner(t)
	}
	newer := newSigner(t)
	for i, v := range c.verdicts {
		if c.rotated && i == len(c.verdicts)-1 {
			by, trusted.public = newer, slices.Concat(newer.public, trusted.public)
		}
		if v.digest == "" {
			v.digest = r.digest
		}
		bundle := by.bundle(t, v.statement())
		if c.change != nil {
			bundle = c.change(t, bundle)
		}
		r.attach(t, bundle)
	}
	return r, trusted
}

func run(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "PATH="+path(t, "bin", "peers")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func check(t *testing.T, engine, out string, err error, refusal string) {
	t.Helper()
	if (err == nil) != (refusal == "") || !strings.Contains(out, refusal) {
		t.Errorf("%s: %v, want %q in\n%.3000s", engine, err, refusal, out)
	}
}

// TestCosignAndRego: cosign verifies what is beside the image, and OPA applies the rule to it.
func TestCosignAndRego(t *testing.T) {
	tier.All(t, "the gate builds no policy engine")
	peer(t, "cosign")
	peer(t, "opa")
	if _, err := exec.LookPath("jq"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED, NOT PASSED: %v", err)
	}
	for name, tc := range policyCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, trusted := tc.prepare(t)
			dir := t.TempDir()
			key := write(t, dir, "postflight.pem", trusted.public)
			out, err := run(t, dir, path(t, "integrations", "policies", "verify.sh"), r.image(), key)
			check(t, "verify.sh", out, err, tc.opa)
		})
	}
}

// TestCosignBlob verifies the file of `postflight attest`, without a registry.
func TestCosignBlob(t *testing.T) {
	tier.All(t, "the gate builds no policy engine")
	cosign, trusted, digest := peer(t, "cosign"), newSigner(t), strings.Repeat("a", 64)
	good := trusted.bundle(t, verdict{digest: digest}.statement())
	cases := map[string]struct {
		bundle            []byte
		algorithm, digest string
		refused           bool
	}{
		"an image":          {good, "sha256", digest, false},
		"a commit":          {good, "gitCommit", commit, false},
		"another image":     {good, "sha256", otherDigest, true},
		"another commit":    {good, "gitCommit", strings.Repeat("0", 40), true},
		"another algorithm": {good, "sha256", commit, true},
		"another key":       {newSigner(t).bundle(t, verdict{digest: digest}.statement()), "sha256", digest, true},
		"a changed byte":    {forge(t, good, "PASSED", "FAILED"), "sha256", digest, true},
		// cosign reads no result: the predicate is for a policy.
		"a failed run": {trusted.bundle(t, verdict{digest: digest, result: "FAILED"}.statement()), "sha256", digest, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out, err := run(t, dir, cosign, "verify-blob-attestation", "--key", write(t, dir, "postflight.pem", trusted.public),
				"--bundle", write(t, dir, "verdict.json", tc.bundle), "--insecure-ignore-tlog", "--type", attestation.PredicateType,
				"--digestAlg", tc.algorithm, "--digest", tc.digest)
			if (err != nil) != tc.refused {
				t.Errorf("%v, refused: %t\n%s", err, tc.refused, out)
			}
		})
	}
}

const resourcesOfShop = `apiVersion: v1
kind: Pod
metadata: {name: shop, namespace: shop}
spec: {containers: [{name: shop, image: %q}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: %q}]}
`

// TestKyverno applies the policy to what runs the image, as the admission webhook does.
func TestKyverno(t *testing.T) {
	tier.All(t, "the gate builds no policy engine")
	kyverno := peer(t, "kyverno")
	policy := read(t, "integrations", "policies", "kyverno.yaml")
	for name, tc := range policyCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, trusted := tc.prepare(t)
			dir := t.TempDir()
			file := write(t, dir, "policy.yaml", []byte(fill(t, policy, r, trusted)))
			resources := write(t, dir, "resources.yaml", fmt.Appendf(nil, resourcesOfShop, r.image(), r.image()))
			out, err := run(t, dir, kyverno, "apply", file, "--registry", "--resource", resources)
			check(t, "kyverno", out, err, tc.kyverno)
			if tc.kyverno == "" && !regexp.MustCompile(`pass: [1-9]\d*, fail: 0, warn: 0, error: 0, skip: 0`).MatchString(out) {
				t.Errorf("the policy was not applied:\n%s", out)
			}
			for _, resource := range []string{"Pod", "Deployment"} {
				if strings.Contains(out, "resource shop/"+resource+"/shop failed") != (tc.kyverno != "") {
					t.Errorf("%s: want %q in\n%.3000s", resource, tc.kyverno, out)
				}
			}
		})
	}
}

// fill puts the key and the registry into the policy.
func fill(t *testing.T, policy string, r *registry, s signer) string {
	t.Helper()
	keys := strings.TrimSuffix(strings.TrimPrefix(string(s.public), "-----BEGIN PUBLIC KEY-----\n"), "\n-----END PUBLIC KEY-----\n")
	for old, value := range map[string]string{
		"registry.example.com/shop": r.host + "/shop",
		"REPLACE":                   strings.ReplaceAll(keys, "\n", "\n                          "),
	} {
		if !strings.Contains(policy, old) {
			t.Fatalf("the policy has no %s", old)
		}
		policy = strings.ReplaceAll(policy, old, value)
	}
	return policy
}

// TestRule: the rule of the docs is complete; without a part of it, nothing is good enough.
func TestRule(t *testing.T) {
	tier.All(t, "the gate builds no policy engine")
	opa, rego := peer(t, "opa"), path(t, "integrations", "policies", "verdict.rego")
	digest := strings.Repeat("a", 64)
	input := encode(t, object{"digest": digest, "statements": []any{verdict{digest: digest}.statement()}})
	for rule, allowed := range map[string]bool{
		`{"team": "shop", "environment": "staging", "triggers": ["e2e"], "max_age": "24h"}`:          true,
		`{"team": "shop", "environment": "staging", "triggers": ["e2e", "smoke"], "max_age": "24h"}`: false,
		`{"environment": "staging", "triggers": ["e2e"], "max_age": "24h"}`:                          false,
		`{"team": "shop", "environment": "staging", "triggers": [], "max_age": "24h"}`:               false,
		`{"team": "shop", "environment": "staging", "triggers": ["e2e"], "max_age": "0s"}`:           false,
		`{"team": "shop", "environment": "staging", "triggers": ["e2e"], "max_age": "a day"}`:        false,
		`{"team": "shop", "environment": "staging", "triggers": ["e2e"]}`:                            false,
		`{}`: false,
	} {
		dir := t.TempDir()
		out, err := run(t, dir, opa, "eval", "-d", rego, "-d", write(t, dir, "rule.json", []byte(`{"rule": `+rule+`}`)),
			"-i", write(t, dir, "input.json", input), "--format", "raw", "data.postflight.allow")
		if got := strings.TrimSpace(out) == "true"; err != nil || got != allowed {
			t.Errorf("%s: %s, %v, want %t", rule, out, err, allowed)
		}
	}
	dir := t.TempDir()
	input = encode(t, object{"digest": otherDigest, "statements": []any{verdict{digest: digest}.statement()}})
	out, err := run(t, dir, opa, "eval", "-d", rego, "-d", path(t, "integrations", "policies", "rule.json"),
		"-i", write(t, dir, "input.json", input), "--format", "raw", "data.postflight.allow")
	if err != nil || strings.TrimSpace(out) != "false" {
		t.Errorf("a verdict about another image: %s, %v", out, err)
	}
	if out, err := run(t, filepath.Dir(rego), opa, "check", "--strict", rego); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
