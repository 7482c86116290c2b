package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// TestColumns requests the columns as kubectl get does.
func TestColumns(t *testing.T) {
	s := apiserver.New(t)
	ns := s.Namespace(t)
	u := store(t, s, object(t, suite, whole, set("metadata/namespace", ns), func(o map[string]any) {
		o["metadata"].(fields)["labels"] = fields{"postflight.dev/short-sha": "5ca1ab1e0ddb"}
	}))
	change(t, u, succeeded("False", "Failed"))
	if err := s.Client.Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	u = store(t, s, object(t, trigger, set("metadata/namespace", ns),
		set("spec/match", fields{"branches": list{"main", "release/**"}, "deploymentTypes": list{"staging"}}), set("spec/paused", true)))
	change(t, u, set("status", fields{
		"conditions": list{condition("Ready", "True", "Paused")}, "activeSuites": 3,
		"lastSuite": fields{"name": "smoke-1", "state": "Passed", "receivedAt": "2026-11-20T18:00:00.000000Z"},
	}))
	if err := s.Client.Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	u = store(t, s, object(t, apiKey, set("metadata/namespace", ns)))
	change(t, u, set("status", fields{"conditions": list{condition("Ready", "False", "NoTeam")}, "lastUsedTime": time.Now().Format(time.RFC3339)}))
	if err := s.Client.Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		resource string
		columns  []string // of a plain kubectl get
		cells    []string
		wide     []string // only with -o wide
	}{
		"Suite": {"suites",
			[]string{"Name", "State", "Environment", "Branch", "SHA", "Age"},
			[]string{"subject", "Failed", "staging", "main", "5ca1ab1e0ddb", "<age>"},
			[]string{"Tests", "Failed", "New", "Message"}},
		"Trigger": {"triggers",
			[]string{"Name", "Environment", "Branches", "Types", "Paused", "Ready", "Active", "Last", "Age"},
			[]string{"subject", "staging", `["main","release/**"]`, `["staging"]`, "true", "True", "3", "Passed", "<age>"},
			[]string{"Reason", "Message", "Schedule", "Next"}},
		"APIKey": {"apikeys",
			[]string{"Name", "Description", "Expires", "Suspended", "Ready", "Last used", "Age"},
			[]string{"subject", "<nil>", "<nil>", "<nil>", "False", "<age>", "<age>"},
			[]string{"Reason", "Message"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			columns, cells, wide := row1(t, getTable(t, s.Config, fmt.Sprintf("/apis/postflight.dev/v1alpha1/namespaces/%s/%s", ns, tc.resource)))
			if diff := cmp.Diff(tc.columns, columns); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.cells, cells); diff != "" {
				t.Errorf("cells (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wide, wide); diff != "" {
				t.Errorf("columns of -o wide only (-want +got):\n%s", diff)
			}
		})
	}
}

func getTable(t *testing.T, config *rest.Config, path string) *metav1.Table {
	t.Helper()
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(config.Host, "/")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	table := &metav1.Table{}
	if err := json.NewDecoder(resp.Body).Decode(table); err != nil {
		t.Fatal(err)
	}
	return table
}

var age = regexp.MustCompile(`^\d+s$`)

// row1 is the only row of the table, in the columns that are shown without -o wide, and the names of the others.
func row1(t *testing.T, table *metav1.Table) (columns, cells, wide []string) {
	t.Helper()
	if len(table.Rows) != 1 {
		t.Fatalf("got %d rows, want 1", len(table.Rows))
	}
	for i, column := range table.ColumnDefinitions {
		if column.Priority > 0 {
			wide = append(wide, column.Name)
			continue
		}
		columns = append(columns, column.Name)
		cells = append(cells, age.ReplaceAllString(fmt.Sprint(table.Rows[0].Cells[i]), "<age>"))
	}
	return columns, cells, wide
}
