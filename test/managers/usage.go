package managers

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// CPU is how much the process has used. It is for Linux.
func (p *Process) CPU() time.Duration {
	p.t.Helper()
	used, err := apiserver.CPUOf(p.PID())
	if err != nil {
		p.t.Fatal(err)
	}
	return used
}

// RSSMiB is how much memory the process has now.
func (p *Process) RSSMiB() int { return p.MemoryMiB("VmRSS:") }

// MemoryMiB reads a field of /proc/PID/status. It is for Linux.
func (p *Process) MemoryMiB(field string) int {
	p.t.Helper()
	return MemoryMiB(p.t, p.PID(), field)
}

// MemoryMiB returns what the kernel says of the memory of a process.
func MemoryMiB(t testing.TB, pid int, field string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, field); ok {
			kib, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kib >> 10
		}
	}
	t.Fatalf("the process has no %s", field)
	return 0
}
