package attestation

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"iter"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/internal/signing"
	"github.com/postflight-dev/postflight/test/clitest"
)

const sha = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"

var (
	tuesday = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	digest  = strings.Repeat("ab", 32)
	other   = strings.Repeat("cd", 32)
)

// signer has a key, and the file of its public one.
type signer struct {
	keys   *signing.Keys
	public string
}

func newSigner(t *testing.T) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	private, public := filepath.Join(folder, "key.pem"), filepath.Join(folder, "public.pem")
	write(t, private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	keys, err := signing.Load([]string{private})
	if err != nil {
		t.Fatal(err)
	}
	write(t, public, keys.PublicPEM())
	return signer{keys, public}
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// verdict is the bundle of a run that was created some minutes after tuesday, and took five.
func (s signer) verdict(t *testing.T, name string, minute int, end metav1.Condition, image string, changes ...func(*v1alpha1.Suite)) []byte {
	t.Helper()
	at := func(minute int) metav1.Time { return metav1.NewTime(tuesday.Add(time.Duration(minute) * time.Minute)) }
	version := &v1alpha1.WorkloadVersion{UID: "1", SHA: sha, RolledOut: true,
		Digests: []v1alpha1.ImageDigest{{Container: "app", Digest: "sha256:" + image}}}
	run := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: at(minute)},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging",
			Deployment: v1alpha1.Deployment{Repository: "acme/shop", SHA: sha}},
		Status: v1alpha1.SuiteStatus{
			CompletionTime: new(at(minute + 5)), DecidedBy: v1alpha1.DecidedByTests, Results: &v1alpha1.TestResults{Tests: 3, Passed: 3},
			Conditions: []metav1.Condition{end},
			UnderTest: &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{
				{Repository: "acme/shop", Kind: "Deployment", Namespace: "shop", Name: "web", Start: version, End: version}}},
		},
	}
	for _, change := range changes {
		change(run)
	}
	payload, err := attestation.New("acme", run, "", nil).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return s.sign(t, payload)
}

func (s signer) sign(t *testing.T, payload []byte) []byte {
	t.Helper()
	bundle, err := s.keys.Sign(attestation.PayloadType, payload)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func files(t *testing.T, bundles ...[]byte) (names []string) {
	t.Helper()
	for _, b := range bundles {
		name := filepath.Join(t.TempDir(), "verdict.sigstore.json")
		write(t, name, b)
		names = append(names, name)
	}
	return names
}

func options(key string, change ...func(*VerifyOptions)) (*VerifyOptions, *bytes.Buffer) {
	c, _, log := clitest.Console()
	o := &VerifyOptions{Server: access.Server{Output: cli.Output{Console: c}}, Keys: []string{key}, SHA: sha,
		Now: func() time.Time { return tuesday.Add(100 * time.Minute) }}
	for _, c := range change {
		c(o)
	}
	return o, log
}

func quarantined(s *v1alpha1.Suite) {
	s.Status.Results = &v1alpha1.TestResults{Tests: 3, Passed: 2, Failed: 1, Quarantined: 1}
}

// TestVerify: 1 refuses, and 3 is trouble, so that a pipeline can tell a red from a mistake.
func TestVerify(t *testing.T) {
	ours, theirs := newSigner(t), newSigner(t)
	green := ours.verdict(t, "green", 0, v1alpha1.Passed(""), digest)
	red := ours.verdict(t, "red", 60, v1alpha1.Failed(""), digest)
	changed := bytes.Replace(bytes.ReplaceAll(green, []byte(" "), nil), []byte(`"payload":"ey`), []byte(`"payload":"ez`), 1)
	byImage := func(text string) func(*VerifyOptions) { return func(o *VerifyOptions) { o.SHA, o.Image = "", text } }
	for name, tc := range map[string]struct {
		bundles [][]byte
		key     string
		change  func(*VerifyOptions)
		code    int
		says    string
	}{
		"a commit":        {[][]byte{green}, ours.public, nil, 0, "PASSED: the run green of the Trigger smoke in staging ended as Passed 1 hour ago. 3 tests, 0 failed."},
		"upper case":      {[][]byte{green}, ours.public, func(o *VerifyOptions) { o.SHA = strings.ToUpper(sha) }, 0, "Verified."},
		"an image":        {[][]byte{green}, ours.public, byImage("registry.example.com/acme/shop@sha256:" + digest), 0, "Verified."},
		"a digest":        {[][]byte{green}, ours.public, byImage("sha256:" + digest), 0, "Verified."},
		"a changed byte":  {[][]byte{changed}, ours.public, nil, 1, "what they signed was changed"},
		"another key":     {[][]byte{green}, theirs.public, nil, 1, "none of the keys"},
		"another signer":  {[][]byte{theirs.verdict(t, "x", 0, v1alpha1.Passed(""), digest)}, ours.public, nil, 1, "none of the keys"},
		"another image":   {[][]byte{green}, ours.public, byImage("sha256:" + other), 1, "not among its subjects"},
		"another commit":  {[][]byte{green}, ours.public, func(o *VerifyOptions) { o.SHA = strings.Repeat("1", 40) }, 1, "not among its subjects"},
		"red":             {[][]byte{red}, ours.public, nil, 1, "FAILED (Failed)"},
		"withdrawn":       {[][]byte{green, red}, ours.public, nil, 1, "the run red"},
		"warned":          {[][]byte{ours.verdict(t, "w", 0, v1alpha1.Passed(""), digest, quarantined)}, ours.public, nil, 1, "--allow-warnings"},
		"allowed":         {[][]byte{ours.verdict(t, "w", 0, v1alpha1.Passed(""), digest, quarantined)}, ours.public, func(o *VerifyOptions) { o.Wanted.Warnings = true }, 0, "WARNED"},
		"stale":           {[][]byte{green}, ours.public, func(o *VerifyOptions) { o.Wanted.MaxAge = time.Hour }, 1, "may be 1h old"},
		"no bundle":       {[][]byte{[]byte("{}")}, ours.public, nil, 1, "media type"},
		"another payload": {[][]byte{ours.sign(t, []byte(`{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://slsa.dev/provenance/v1"}`))}, ours.public, nil, 1, "no test result"},
		"an exit code": {[][]byte{ours.verdict(t, "e", 0, v1alpha1.Passed(""), digest, func(s *v1alpha1.Suite) {
			s.Status.DecidedBy, s.Status.Results, s.Spec.OnlyFailedOf = v1alpha1.DecidedByExitCode, nil, &v1alpha1.RunReference{Name: "all"}
		})}, ours.public, nil, 0, "The exit code alone decided. It repeated only the failed tests of all."},
		"nothing to verify": {nil, ours.public, nil, 3, "name the files of the verdicts"},
		"no key":            {[][]byte{green}, ours.public, func(o *VerifyOptions) { o.Keys = nil }, 3, "with --key"},
		"no key file":       {[][]byte{green}, "nowhere.pem", nil, 3, "nowhere.pem"},
		"a short SHA":       {[][]byte{green}, ours.public, func(o *VerifyOptions) { o.SHA = sha[:8] }, 3, "full SHA"},
		"a tag":             {[][]byte{green}, ours.public, byImage("registry.example.com/acme/shop:v1"), 3, "a tag can be moved"},
		"both":              {[][]byte{green}, ours.public, func(o *VerifyOptions) { o.Image = digest }, 3, "one of them"},
		"neither":           {[][]byte{green}, ours.public, func(o *VerifyOptions) { o.SHA = "" }, 3, "one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			o, log := options(tc.key)
			if tc.change != nil {
				tc.change(o)
			}
			err := cli.ExitTroubleError(o.Run(t.Context(), files(t, tc.bundles...)))
			text := log.String()
			if err != nil {
				text += err.Error()
			}
			if code := max(clitest.ExitCode(err), 0); code != tc.code || !strings.Contains(text, tc.says) {
				t.Errorf("exit code %d: %s\nwant %d: %s", code, text, tc.code, tc.says)
			}
			if strings.Contains(text, "Verified.") != (tc.code == 0) {
				t.Errorf("%s", text)
			}
		})
	}
}

// verdicts answer for a server.
type verdicts struct {
	state string
	err   error
	asked []string
}

func (v *verdicts) Verdict(_ context.Context, q client.VerdictQuery, _ time.Duration) (*client.Verdict, error) {
	v.asked = append(v.asked, q.SHA[:8]+" "+q.Environment+" "+q.Repository)
	return &client.Verdict{State: v.state, Passed: v.state == httpapi.VerdictPassed, Sentence: "The nightly run failed."}, v.err
}

// TestStillHolds: the server may know more than what was signed.
func TestStillHolds(t *testing.T) {
	ours := newSigner(t)
	for name, tc := range map[string]struct {
		verdicts verdicts
		code     int
		says     string
	}{
		"it holds":  {verdicts{state: "passed"}, 0, "Verified."},
		"withdrawn": {verdicts{state: "withdrawn"}, 1, "is withdrawn by now: The nightly run failed."},
		"running":   {verdicts{state: "running"}, 1, "running"},
		"unknown":   {verdicts{state: ""}, 1, "the verdict of the server is"},
		"no answer": {verdicts{err: io.ErrUnexpectedEOF}, 3, "whether the verdict still holds"},
	} {
		t.Run(name, func(t *testing.T) {
			o, log := options(ours.public, func(o *VerifyOptions) { o.Verdicts = &tc.verdicts })
			err := cli.ExitTroubleError(o.Run(t.Context(), files(t, ours.verdict(t, "green", 0, v1alpha1.Passed(""), digest))))
			text := log.String()
			if err != nil {
				text += err.Error()
			}
			if code := max(clitest.ExitCode(err), 0); code != tc.code || !strings.Contains(text, tc.says) {
				t.Errorf("exit code %d: %s, want %d: %s", code, text, tc.code, tc.says)
			}
			if len(tc.verdicts.asked) != 1 || tc.verdicts.asked[0] != "5ca1ab1e staging acme/shop" {
				t.Errorf("asked: %q", tc.verdicts.asked)
			}
		})
	}
}

// server has runs, the newest first, and the bundles of some.
type server struct {
	runs    []httpapi.Run
	bundles map[string][]byte
}

func (s server) Runs(_ context.Context, f client.RunFilter) iter.Seq2[client.Run, error] {
	return func(yield func(client.Run, error) bool) {
		for _, r := range s.runs {
			if f.SHA != sha || !yield(r, nil) {
				return
			}
		}
	}
}

func (s server) Attestation(_ context.Context, id string) ([]byte, error) {
	if b, ok := s.bundles[id]; ok {
		return b, nil
	}
	return nil, &client.Error{Problem: &client.Problem{FailureCode: "attestation_not_found", FailureMessage: "It is being archived."}}
}

// TestVerifyByServer: without files, the verdicts are those of the server. A failure that is not signed yet withdraws a pass, too.
func TestVerifyByServer(t *testing.T) {
	ours := newSigner(t)
	run := func(id, state string) httpapi.Run {
		return httpapi.Run{ID: id, Trigger: "smoke", Environment: "staging", State: state}
	}
	green, red := ours.verdict(t, "green", 5, v1alpha1.Passed(""), digest), ours.verdict(t, "red", 9, v1alpha1.Failed(""), digest)
	for name, tc := range map[string]struct {
		server server
		code   int
		says   string
	}{
		"green":           {server{[]httpapi.Run{run("green", "Passed")}, map[string][]byte{"green": green}}, 0, "Verified."},
		"red":             {server{[]httpapi.Run{run("red", "Failed"), run("green", "Passed")}, map[string][]byte{"green": green, "red": red}}, 1, "the run red"},
		"unsigned red":    {server{[]httpapi.Run{run("new", "Failed"), run("green", "Passed")}, map[string][]byte{"green": green}}, 1, "the run new ended as Failed, and is not signed"},
		"an older red":    {server{[]httpapi.Run{run("green", "Passed"), run("old", "Failed")}, map[string][]byte{"green": green}}, 0, "The run old is left out"},
		"unsigned green":  {server{[]httpapi.Run{run("new", "Passed"), run("green", "Passed")}, map[string][]byte{"green": green}}, 0, "Verified."},
		"canceled":        {server{[]httpapi.Run{run("new", "Canceled"), run("green", "Passed")}, map[string][]byte{"green": green}}, 0, "Verified."},
		"nothing":         {server{}, 1, "there is no verdict"},
		"another's":       {server{[]httpapi.Run{run("x", "Passed")}, map[string][]byte{"x": newSigner(t).verdict(t, "x", 0, v1alpha1.Passed(""), digest)}}, 1, "none of the keys"},
		"another Trigger": {server{[]httpapi.Run{{ID: "v", Trigger: "visual", Environment: "staging", State: "Failed"}, run("green", "Passed")}, map[string][]byte{"green": green}}, 0, "Verified."},
	} {
		t.Run(name, func(t *testing.T) {
			o, log := options(ours.public, func(o *VerifyOptions) { o.Signed = tc.server; o.Wanted.Triggers = []string{"smoke"} })
			if name == "nothing" {
				o.Wanted.Triggers = nil
			}
			err := cli.ExitTroubleError(o.Run(t.Context(), nil))
			text := log.String()
			if err != nil {
				text += err.Error()
			}
			if code := max(clitest.ExitCode(err), 0); code != tc.code || !strings.Contains(text, tc.says) {
				t.Errorf("exit code %d: %s, want %d: %s", code, text, tc.code, tc.says)
			}
		})
	}
}

type source []byte

func (s source) Attestation(context.Context, string) ([]byte, error) { return s, nil }

// newRegistry has an image, whose digest is in hexadecimal digits.
func newRegistry(t *testing.T, referrers bool) (repository, image string) {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(referrers), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository = strings.TrimPrefix(server.URL, "http://") + "/acme/shop"
	r, err := repositoryOf(imageOf(repository, ""))
	if err != nil {
		t.Fatal(err)
	}
	d, err := oras.PackManifest(t.Context(), r, oras.PackManifestVersion1_1, "application/vnd.example", oras.PackManifestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return repository, d.Digest.Encoded()
}

func imageOf(repository, digest string) image { return image{repository, digest} }

// TestPush: a registry has the bundle beside the image, whether or not it knows referrers, and the same one once.
func TestPush(t *testing.T) {
	ours, theirs := newSigner(t), newSigner(t)
	for name, referrers := range map[string]bool{"referrers": true, "tags": false} {
		t.Run(name, func(t *testing.T) {
			repository, image := newRegistry(t, referrers)
			reference := repository + ":v1@sha256:" + image
			push := func(bundle []byte, to string) error {
				c, _, _ := clitest.Console()
				return (&AttestOptions{Server: access.Server{Output: cli.Output{Console: c}}, Push: to, Source: source(bundle)}).Run(t.Context(), "run")
			}
			verify := func() (string, error) {
				o, log := options(ours.public, func(o *VerifyOptions) { o.SHA, o.Image = "", reference })
				err := o.Run(t.Context(), nil)
				return log.String(), err
			}
			if _, err := verify(); err == nil || clitest.ExitCode(err) != cli.ExitFailed || !strings.Contains(err.Error(), "there is no verdict") {
				t.Errorf("nothing was pushed: %v", err)
			}
			green := ours.verdict(t, "green", 0, v1alpha1.Passed(""), image)
			for range 2 {
				if err := push(green, reference); err != nil {
					t.Fatal(err)
				}
			}
			if bundles, err := pull(t.Context(), imageOf(repository, image)); err != nil || len(bundles) != 1 || !bytes.Equal(bundles[0], green) {
				t.Errorf("%q, %v", bundles, err)
			}
			for _, foreign := range [][]byte{theirs.verdict(t, "x", 90, v1alpha1.Failed(""), image), []byte("garbage")} {
				pushRaw(t, repository, image, foreign)
			}
			if text, err := verify(); err != nil || strings.Count(text, "is left out") != 2 {
				t.Errorf("%s, %v", text, err)
			}
			clitest.Fails(t, "another image", push(ours.verdict(t, "green", 0, v1alpha1.Passed(""), digest), reference),
				"sha256:"+image+" was not under test", "sha256:"+digest+" (shop/Deployment/web/app)")
			clitest.Fails(t, "no such image", push(ours.verdict(t, "green", 0, v1alpha1.Passed(""), digest), repository+"@sha256:"+digest), "not found")
			if err := push(ours.verdict(t, "red", 60, v1alpha1.Failed(""), image), reference); err != nil {
				t.Fatal(err)
			}
			if _, err := verify(); err == nil || clitest.ExitCode(err) != cli.ExitFailed || !strings.Contains(err.Error(), "the run red") {
				t.Errorf("a newer failure: %v", err)
			}
		})
	}
}

// pushRaw puts anything beside an image, as others may.
func pushRaw(t *testing.T, repository, image string, bundle []byte) {
	t.Helper()
	r, err := repositoryOf(imageOf(repository, image))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := r.Resolve(t.Context(), "sha256:"+image)
	if err != nil {
		t.Fatal(err)
	}
	layer := content.NewDescriptorFromBytes(attestation.BundleType, bundle)
	if err := r.Push(t.Context(), layer, bytes.NewReader(bundle)); err != nil {
		t.Fatal(err)
	}
	_, err = oras.PackManifest(t.Context(), r, oras.PackManifestVersion1_1, attestation.BundleType,
		oras.PackManifestOptions{Subject: &subject, Layers: []ocispec.Descriptor{layer}})
	if err != nil {
		t.Fatal(err)
	}
}

// archiving answers that a run is not signed yet, some times.
type archiving struct {
	left  int
	asked *int
}

func (a archiving) Attestation(context.Context, string) ([]byte, error) {
	if *a.asked++; *a.asked <= a.left {
		return nil, &client.Error{Problem: &client.Problem{FailureCode: "attestation_pending", FailureMessage: "It is being archived."}}
	}
	return []byte("{}"), nil
}

// TestAttestWaits: a pipeline that waited for a run asks before it is archived.
func TestAttestWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		pending int
		says    string
	}{"soon": {3, "the server sent no signed verdict"}, "never": {1 << 20, "It is being archived."}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := clitest.Console()
				asked := 0
				o := &AttestOptions{Server: access.Server{Output: cli.Output{Console: c}}, Source: archiving{tc.pending, &asked}}
				began := time.Now()
				clitest.Fails(t, name, o.Run(t.Context(), "run"), tc.says)
				if waited := time.Since(began); asked < 4 || waited > 3*time.Minute {
					t.Errorf("asked %d times in %s", asked, waited)
				}
			})
		})
	}
}

func TestAttest(t *testing.T) {
	ours := newSigner(t)
	bundle := ours.verdict(t, "green", 0, v1alpha1.Passed(""), digest)
	run := func(change func(*AttestOptions)) (string, error) {
		c, out, _ := clitest.Console()
		o := &AttestOptions{Server: access.Server{Output: cli.Output{Console: c}}, Source: source(bundle)}
		change(o)
		err := o.Run(t.Context(), "green")
		return out.String(), err
	}
	if out, err := run(func(*AttestOptions) {}); err != nil || out != string(bundle)+"\n" {
		t.Errorf("%s, %v", out, err)
	}
	file := filepath.Join(t.TempDir(), "b.json")
	if out, err := run(func(o *AttestOptions) { o.File = file }); err != nil || out != "" {
		t.Errorf("%s, %v", out, err)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, bundle) {
		t.Errorf("%s, %v", got, err)
	}
	for to, says := range map[string]string{
		"registry.example.com/acme/shop:v1": "a tag can be moved", "sha256:" + digest: "name the registry", "x@sha256:1": "a tag can be moved",
	} {
		_, err := run(func(o *AttestOptions) { o.Push = to })
		clitest.Fails(t, to, err, says)
	}
	_, err := run(func(o *AttestOptions) { o.Source = source("{}") })
	clitest.Fails(t, "no bundle", err, "the server sent no signed verdict")
}

// TestVerifyTeam: a server signs for all its teams, so the named one alone counts.
func TestVerifyTeam(t *testing.T) {
	ours := newSigner(t)
	file := files(t, ours.verdict(t, "green", 0, v1alpha1.Passed(""), digest))[0]
	for team, want := range map[string]string{"acme": "", "acme/ci": "", "mallory": "there is no verdict of the team mallory"} {
		cmd := NewVerify()
		cmd.SetArgs([]string{file, "--key", ours.public, "--sha", sha, "--team", team})
		if err := cmd.Execute(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("--team %s: %v, want %q", team, err, want)
		}
	}
}
