package e2e

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/freeport"
	"github.com/postflight-dev/postflight/test/tier"
)

const signPath = "/api/v0/run-inputs-executables-signed-urls"

// needs makes the runs of a Trigger need the file that RUN_INPUT_PATH names, and print its checksum.
func needs(paths ...string) setting {
	return func(t *v1alpha1.Trigger) {
		t.Spec.Inputs = &v1alpha1.Inputs{Variables: []string{"RUN_INPUT_PATH"}, Paths: paths}
		runs("/bin/sha")(t)
	}
}

// user is different from that of the image and that of the download.
func user(id int64) setting {
	return func(t *v1alpha1.Trigger) {
		container(t).SecurityContext = &corev1.SecurityContext{RunAsUser: &id, RunAsGroup: &id}
	}
}

// TestPublishedClientUploads follows a file from the signed URL and the upload to the notification and the pod.
func TestPublishedClientUploads(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	attemptNotifyDeploy, upload := npmClient(t), npmUpload(t)
	tm := newTeam(t, c)
	tm.trigger("mobile", needs(), user(12345))
	m := tm.sharedManager()

	size, destinations := int64(50<<20), map[string]string{"Plain": "app.apk", "Odd": "builds/größe 100%/a+b.apk", "TeamStorage": "fixtures/größe.json"}
	if tier.Gate() {
		size = 1 << 20
		delete(destinations, "Plain")
		delete(destinations, "TeamStorage")
	}
	file, sum := randomFile(t, size)
	for name, destination := range destinations {
		t.Run(name, func(t *testing.T) {
			tm := tm.in(t)
			began := time.Now()
			signed := upload(map[string]any{"apiKey": tm.key, "serviceBase": m.url, "file": file, "destination": destination, "teamStorage": name == "TeamStorage"})
			if signed["success"] != true || signed["putStatus"] != 200.0 || signed["fileLocation"] != tm.name+"/"+destination || signed["playgroundFileLocation"] != destination {
				t.Fatalf("the client returns %v", signed)
			}
			status := attemptNotifyDeploy(map[string]any{"apiKey": tm.key, "serviceBase": m.url, "deployment": map[string]any{
				"branch": "main", "sha": sha(), "variables": map[string]any{"RUN_INPUT_PATH": signed["fileLocation"]},
			}})
			id, _ := status["runId"].(string)
			s := tm.awaitState(id, v1alpha1.ReasonPassed)
			figure(t, "INPUT bytes=%d seconds=%.1f", size, time.Since(began).Seconds())
			if want := sum + " of /run-inputs/" + destination; !strings.Contains(message(s), want) || !strings.Contains(tm.log(id), want) {
				t.Errorf("message %q does not show %q", message(s), want)
			}
			if len(s.Status.Inputs) != 1 || s.Status.Inputs[0].Path != destination || s.Status.Inputs[0].Size != size || s.Status.Inputs[0].ETag == "" {
				t.Errorf("status.inputs: %+v", s.Status.Inputs)
			}
			tm.noSignature(m, id)
		})
	}
}

// noSignature checks that no signed URL appears where people and tools can see it.
func (tm *team) noSignature(m *manager, suite string) {
	tm.t.Helper()
	texts := map[string]string{}
	for _, args := range [][]string{{"get", "suite", suite, "-o", "yaml"}, {"get", "events", "-o", "yaml"}, {"logs", "job/" + suite, "--all-containers"}} {
		out, err := tm.kubectl(append([]string{"-n", tm.name}, args...)...)
		if err != nil {
			tm.t.Error(err)
		}
		texts[strings.Join(args, " ")] = out
	}
	log, _ := os.ReadFile(m.log)
	texts["the manager's log"] = string(log)
	for where, text := range texts {
		if strings.Contains(text, "X-Amz-") {
			tm.t.Errorf("a signed URL is in %s", where)
		}
	}
}

// TestInputsRefused tests runs that can never have their files.
func TestInputsRefused(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	tm, other := newTeam(t, c), newTeam(t, c)
	tm.trigger("mobile", needs())
	m := tm.sharedManager()
	other.upload(other.sharedManager(), "secret.apk", []byte("of the other team"))

	for name, tc := range map[string]struct {
		value string
		want  string
	}{
		"Missing":       {"never/uploaded.apk", `"never/uploaded.apk"`},
		"OtherTeam":     {other.name + "/secret.apk", fmt.Sprintf("not among those of team %q: %q", tm.name, other.name+"/secret.apk")},
		"Traversal":     {"../" + other.name + "/secret.apk", `must not contain the segment ".."`},
		"FromOwn":       {tm.name + "/../" + other.name + "/secret.apk", `must not contain the segment ".."`},
		"PathInPod":     {"/etc/passwd", "must be relative"},
		"LinkElsewhere": {"https://example.com/app.apk", "does not name an input file"},
	} {
		t.Run(name, func(t *testing.T) {
			tm := tm.in(t)
			id := tm.run(m, notification{"branch": name, "variables": map[string]string{"RUN_INPUT_PATH": tc.value}})
			if s := tm.awaitState(id, v1alpha1.ReasonError); !strings.Contains(message(s), tc.want) {
				t.Errorf("message %q does not contain %q", message(s), tc.want)
			}
			if pods := tm.pods(id); len(pods) > 0 {
				t.Errorf("%d pods were made", len(pods))
			}
		})
	}
	t.Run("NoVariable", func(t *testing.T) { // such a file is optional
		tm := tm.in(t)
		s := tm.awaitState(tm.run(m, notification{"branch": "without"}), v1alpha1.ReasonFailed)
		if !strings.Contains(message(s), "named no file") {
			t.Errorf("message %q", message(s))
		}
	})
}

// TestStoreStopped: URLs are signed and notifications answered; a run waits for the store, or says why
// it gave up.
func TestStoreStopped(t *testing.T) {
	tier.All(t, "it waits for time-outs")
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("patient", needs(), branches("patient"))
	tm.trigger("hasty", needs(), branches("hasty"), timeout(5*time.Second))
	store := newStoreProxy(t, c)
	m := runManager(t, c, options{flags: []string{"--store-endpoint=http://" + store.address}})

	content := []byte("uploaded before the store was stopped")
	tm.upload(m, "app.apk", content) // through the public endpoint, which is another
	if a, err := send(http.MethodGet, m.url+signPath+"?file=app.apk", tm.key, nil); err != nil || a.status != http.StatusOK {
		t.Fatalf("signing while the store is stopped: %d, %v", a.status, err)
	}
	probe, err := send(http.MethodGet, m.probes+"/readyz/store", "", nil)
	if err != nil || probe.status == http.StatusOK || !m.ready() {
		t.Errorf("readiness: the store's detail is %d, %v; the manager's sum is ready: %v", probe.status, err, m.ready())
	}
	variables := map[string]string{"RUN_INPUT_PATH": "app.apk"}
	both := sha() // another commit would be deployed while the first one is tested
	patient := tm.run(m, notification{"branch": "patient", "sha": both, "variables": variables})
	hasty := tm.run(m, notification{"branch": "hasty", "sha": both, "variables": variables})

	waits := func(s *v1alpha1.Suite) bool {
		return s.State() == v1alpha1.ReasonQueued && strings.Contains(message(s), "Waiting for the store of the input files")
	}
	s := tm.await(patient, "waiting for the store", waits)
	story(t, "%s: %s", patient, message(s))
	s = tm.awaitState(hasty, v1alpha1.ReasonError)
	story(t, "%s: %s", hasty, message(s))
	if want := "could not be looked up for 5s, because the store cannot be used: it refuses connections"; !strings.Contains(message(s), want) {
		t.Errorf("message %q does not contain %q", message(s), want)
	}
	m.restart() // the wait goes on where it was
	store.open()
	s = tm.awaitState(patient, v1alpha1.ReasonPassed)
	story(t, "%s: %s", patient, message(s))
	if sum := sha256.Sum256(content); !strings.Contains(message(s), hex.EncodeToString(sum[:])) {
		t.Errorf("message %q does not show the checksum", message(s))
	}
}

// upload sends a file with PUT, as curl does.
func (tm *team) upload(m *manager, path string, content []byte) {
	tm.t.Helper()
	var signed struct{ SignedURL string }
	a, err := send(http.MethodGet, m.url+signPath+"?file="+url.QueryEscape(path), tm.key, nil)
	if err == nil {
		err = json.Unmarshal(a.body, &signed)
	}
	if err != nil || a.status != http.StatusOK {
		tm.t.Fatalf("sign %q: %d %s, %v", path, a.status, a.body, err)
	}
	req, err := http.NewRequest(http.MethodPut, signed.SignedURL, strings.NewReader(string(content)))
	if err != nil {
		tm.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := httpClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		tm.t.Fatalf("PUT %q: %v, %v", path, resp, err)
	}
	resp.Body.Close()
}

// podProxy is another address of a server, which pods reach, too. It refuses connections until it is opened.
type podProxy struct {
	t       testing.TB
	address string
	server  string
}

func newStoreProxy(t testing.TB, c *cluster) *podProxy {
	_, port, _ := net.SplitHostPort(freeport.Address(t))
	return &podProxy{t: t, address: net.JoinHostPort(c.env["POSTFLIGHT_BRIDGE_ADDRESS"], port), server: strings.TrimPrefix(c.env["S3_ENDPOINT"], "http://")}
}

func (p *podProxy) open() {
	p.t.Helper()
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(in)
		}
	}()
}

func (p *podProxy) forward(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer out.Close()
	go func() { _, _ = io.Copy(out, in) }()
	_, _ = io.Copy(in, out)
}

func randomFile(t *testing.T, size int64) (path, sum string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "app.apk")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	hash := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(out, hash), rand.Reader, size); err != nil {
		t.Fatal(err)
	}
	return path, hex.EncodeToString(hash.Sum(nil))
}
