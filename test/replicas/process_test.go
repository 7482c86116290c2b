package replicas

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// cpu is how much the process has used.
func (r *replica) cpu() time.Duration {
	r.t.Helper()
	used, err := apiserver.CPUOf(r.PID())
	if err != nil {
		r.t.Fatal(err)
	}
	return used
}

// rssMiB is how much memory the process has now.
func (r *replica) rssMiB() int { return r.memoryMiB("VmRSS:") }

// memoryMiB reads a field of /proc/PID/status.
func (r *replica) memoryMiB(field string) int {
	content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID()))
	for line := range strings.Lines(string(content)) {
		if value, ok := strings.CutPrefix(line, field); ok {
			kib, _ := strconv.Atoi(strings.Fields(value)[0])
			return kib >> 10
		}
	}
	return 0
}

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
