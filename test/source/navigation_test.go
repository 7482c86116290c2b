package source

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestNavigation: each page of docs is once in the navigation of the documentation site, and each entry is a page.
func TestNavigation(t *testing.T) {
	code := readCode(t)
	var groups []struct{ Pages []string }
	if err := json.Unmarshal([]byte(read(t, "hack/docs/navigation.json")), &groups); err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, group := range groups {
		for _, entry := range group.Pages {
			pages := pagesOf(entry, code.pages)
			if len(pages) == 0 {
				t.Errorf("hack/docs/navigation.json has %s, which is no page", entry)
			}
			for _, page := range pages {
				listed[page]++
			}
		}
	}
	for _, page := range code.pages {
		if n := listed[page]; n > 1 || n == 0 && strings.HasPrefix(page, "docs/") {
			t.Errorf("%s is %d times in hack/docs/navigation.json, want once", page, n)
		}
	}
}

// pagesOf are the pages of an entry: the page of that name, or all in a folder that ends with /**.
func pagesOf(entry string, pages []string) (of []string) {
	folder, isFolder := strings.CutSuffix(entry, "**")
	for _, page := range pages {
		if page == entry || isFolder && strings.HasPrefix(page, folder) {
			of = append(of, page)
		}
	}
	return of
}
