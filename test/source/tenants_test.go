package source

import (
	"regexp"
	"strings"
	"testing"
)

// tenantActors are the rows of the table in docs/threat-model.md, by how they begin.
var tenantActors = []string{
	"an API key", "a CI token that names a Team", "a CI token, its repository listed for one Team",
	"a CI token, its repository listed for no Team",
	"a CI token, its repository listed for several Teams", "a wait token", "a ServiceAccount of the Team's namespace",
	"a ServiceAccount of another namespace",
	"events with the secret of an EventSource", "events of the manager's App", "the author of a TrustPolicy", "the author of a Trigger",
	"the author of an Environment", "the author of a TriggerClass", "the author of a Suite", "a person on the run pages", "a pod of a run",
}

// TestTenantMatrix: each cell of the table that says whose token reaches whose team, and who writes what into whose pod, names a test
// that exists.
func TestTenantMatrix(t *testing.T) {
	page := read(t, "docs/threat-model.md")
	_, section, found := strings.Cut(page, "\n## Between teams\n")
	if !found {
		t.Fatal("docs/threat-model.md has no section \"Between teams\"")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for _, line := range strings.Split(section, "\n") {
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
		}
	}
	if len(rows) != len(tenantActors)+1 {
		t.Fatalf("the table has %d rows, want %d and their head", len(rows), len(tenantActors))
	}
	code, test := readCode(t), regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")
	for i, row := range rows[1:] {
		if !strings.HasPrefix(row[0], tenantActors[i]) || len(row) != len(rows[0]) {
			t.Errorf("the row %q has %d cells, want %q with %d", row[0], len(row), tenantActors[i], len(rows[0]))
			continue
		}
		for column, cell := range row[1:] {
			named := test.FindAllStringSubmatch(cell, -1)
			if len(named) == 0 {
				t.Errorf("%s, %s: no test is named in %q", row[0], rows[0][column+1], cell)
			}
			for _, name := range named {
				if !code.tests[name[1]] {
					t.Errorf("%s, %s: %s does not exist", row[0], rows[0][column+1], name[1])
				}
			}
		}
	}
}
