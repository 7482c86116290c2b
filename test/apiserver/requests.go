package apiserver

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"k8s.io/client-go/rest"
)

// counted is a line of the API server's metrics.
var counted = regexp.MustCompile(`(?m)^apiserver_request_total\{.*\bresource="(.*?)".*\bsubresource="(.*?)",verb="(.*?)".* (\S+)$`)

// Requests is how many requests clients have sent to the API server, by verb and resource, such as "POST pods" and "PATCH suites/status".
// Leases are left out: the clock renews them, not a load. So are watches.
func (s *Server) Requests(t testing.TB) map[string]int {
	t.Helper()
	c, err := rest.HTTPClientFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Get(s.Config.Host + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the metrics of the API server: %s %v", resp.Status, err)
	}
	counts := map[string]int{}
	for _, m := range counted.FindAllSubmatch(text, -1) {
		resource, verb := string(m[1]), string(m[3])
		if resource == "" || resource == "leases" || verb == "WATCH" {
			continue
		}
		if len(m[2]) > 0 {
			resource += "/" + string(m[2])
		}
		n, err := strconv.ParseFloat(string(m[4]), 64)
		if err != nil {
			t.Fatal(err)
		}
		counts[verb+" "+resource] += int(n)
	}
	return counts
}
