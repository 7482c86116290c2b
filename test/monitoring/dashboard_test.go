package monitoring

import (
	"encoding/json"
	"testing"
)

// TestDashboardIsOfServedMetrics: a panel about a metric that is not served would stay empty.
func TestDashboardIsOfServedMetrics(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "charts", "postflight", "files", "monitoring", "dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	served, ids, queries := documented(t), map[int]bool{}, 0
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] {
			t.Errorf("the id %d is there twice", panel.ID)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			queries++
			if names := unknown(target.Expr, served); len(names) > 0 {
				t.Errorf("%q is about %q, which no manager serves", panel.Title, names)
			}
		}
	}
	if queries < 25 {
		t.Errorf("only %d queries were found", queries)
	}
}
