package replicas

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
)

// metric reads one that has no labels.
func (r *replica) metric(name string) int {
	r.t.Helper()
	resp, err := http.Get(r.Metrics + "/metrics")
	if err != nil {
		r.t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				r.t.Error(err)
			}
			return int(n)
		}
	}
	r.t.Errorf("there is no metric %s", name)
	return 0
}
