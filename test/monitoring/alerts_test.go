package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/tier"
)

// rules are the alerts as Prometheus reads them, and as the operator does.
type rules struct {
	Spec struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr         string
				For                 string
				Labels, Annotations map[string]string
			}
		}
	}
}

func path(t *testing.T, names ...string) string {
	t.Helper()
	root, err := apiserver.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root}, names...)...)
}

func read(t *testing.T, names ...string) string {
	t.Helper()
	text, err := os.ReadFile(path(t, names...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tool is one of Prometheus; without it, the test is skipped, but not in CI.
func tool(t *testing.T, name string) string {
	t.Helper()
	binary := path(t, "bin", name)
	if _, err := os.Stat(binary); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED, NOT PASSED: build it by `make bin/%s`: %v", name, err)
	}
	return binary
}

func readRules(t *testing.T) rules {
	t.Helper()
	var r rules
	if err := yaml.Unmarshal([]byte(read(t, "config", "monitoring", "prometheus_rule.yaml")), &r); err != nil || len(r.Spec.Groups) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	return r
}

// TestAlerts runs the tests of the alerts with promtool.
func TestAlerts(t *testing.T) {
	tier.All(t, "the gate builds no Prometheus")
	promtool, dir := tool(t, "promtool"), t.TempDir()
	var rule struct{ Spec any }
	if err := yaml.Unmarshal([]byte(read(t, "config", "monitoring", "prometheus_rule.yaml")), &rule); err != nil {
		t.Fatal(err)
	}
	spec, err := yaml.Marshal(rule.Spec)
	if err != nil {
		t.Fatal(err)
	}
	tests := "rule_files: [rules.yaml]\n" + read(t, "test", "monitoring", "testdata", "alerts.yaml")
	for name, content := range map[string]string{"rules.yaml": string(spec), "tests.yaml": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"}, {"test", "rules", "tests.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for _, alert := range readRules(t).Spec.Groups[0].Rules {
		if strings.Count(tests, alert.Alert) < 2 {
			t.Errorf("%s is not tested both ways", alert.Alert)
		}
	}
}

// TestRunbooks: each alert leads to a section that says what to do, and no section is about an alert that does not exist.
func TestRunbooks(t *testing.T) {
	const page = "https://github.com/postflight-dev/postflight/blob/main/docs/operations/alerts.md#"
	var alerts, sections []string
	for _, group := range readRules(t).Spec.Groups {
		for _, r := range group.Rules {
			alerts = append(alerts, r.Alert)
			if want := page + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s leads to %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			if r.For == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" ||
				!slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) {
				t.Errorf("%s lacks a duration, a summary, a description or a severity: %+v", r.Alert, r)
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (Postflight\w+)$`).FindAllStringSubmatch(read(t, "docs", "operations", "alerts.md"), -1) {
		sections = append(sections, m[1])
	}
	if !slices.Equal(alerts, sections) {
		t.Errorf("the alerts are %q, and the page has %q", alerts, sections)
	}
}

var metricName = regexp.MustCompile(`postflight_[a-z_]+`)

// documented are the metrics of docs/operations/metrics.md, which TestMetricsAreDocumented compares with those served.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `postflight_.*? \\|").FindAllString(read(t, "docs", "operations", "metrics.md"), -1) {
		for _, name := range metricName.FindAllString(row, -1) {
			names[name] = true
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %d metrics are documented", len(names))
	}
	return names
}

// unknown are the metrics of an expression that no manager serves. Histograms have suffixes.
func unknown(expr string, served map[string]bool) (names []string) {
	for _, name := range metricName.FindAllString(expr, -1) {
		base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		if !served[name] && !served[base] {
			names = append(names, name)
		}
	}
	return names
}

// TestAlertsAreOfServedMetrics: an alert on a metric that is not served would never fire.
func TestAlertsAreOfServedMetrics(t *testing.T) {
	served := documented(t)
	for _, group := range readRules(t).Spec.Groups {
		for _, r := range group.Rules {
			if names := unknown(r.Expr, served); len(names) > 0 || !metricName.MatchString(r.Expr) {
				t.Errorf("%s is about %q, which no manager serves", r.Alert, names)
			}
		}
	}
	if names := unknown("rate(postflight_nowhere_total[5m])", served); len(names) != 1 {
		t.Errorf("an unknown metric is not found")
	}
}
