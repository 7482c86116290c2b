// Package prometheus starts the real Prometheus for tests.
package prometheus

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/test/freeport"
	"github.com/postflight-dev/postflight/test/poll"
)

// Start scrapes the metrics at a URL every second until the test ends, and returns the URL of its API. The binary is
// that of `make bin/prometheus`; without it, the test is skipped, or fails in CI.
func Start(t testing.TB, binary, metrics string) (url string) {
	t.Helper()
	if _, err := os.Stat(binary); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED, NOT PASSED: build it by `make bin/prometheus`: %v", err)
	}
	dir, address := t.TempDir(), freeport.Address(t)
	target := strings.TrimSuffix(strings.TrimPrefix(metrics, "http://"), "/metrics")
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: postflight, static_configs: [{targets: [%q]}]}]\n",
		target)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--enable-feature=exemplar-storage")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		_ = log.Close()
	})
	url = "http://" + address
	awaitReady(t, url, log.Name())
	return url
}

func awaitReady(t testing.TB, url, log string) {
	t.Helper()
	poll.Until(t, "Prometheus is ready", func() string {
		resp, err := http.Get(url + "/-/ready")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return ""
			}
		}
		text, _ := os.ReadFile(log)
		return "it does not answer, and logged:\n" + string(text)
	})
}
