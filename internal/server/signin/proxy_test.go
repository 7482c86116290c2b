package signin_test

import (
	"fmt"
	"net/http"
	"testing"
)

func TestSignInByProxy(t *testing.T) {
	const config = `
proxy: {userHeader: X-Forwarded-User, groupsHeader: X-Forwarded-Groups, from: [%q]}
groups: [{group: shop-devs, team: shop}]
`
	headers := func(user string, groups ...string) http.Header {
		return http.Header{"X-Forwarded-User": {user}, "X-Forwarded-Groups": groups}
	}
	cases := map[string]struct {
		reason string
		from   string
		header http.Header
		want   string
	}{
		"From the proxy":  {"It has authenticated them.", "127.0.0.0/8", headers("anna", "everyone, shop-devs"), "/ci/runs/shop"},
		"Several headers": {"The client sent one of its own.", "127.0.0.0/8", headers("anna", "everyone", "shop-devs"), "/ci/sign-in"},
		"From elsewhere":  {"Anybody can send headers.", "10.0.0.0/8", headers("anna", "shop-devs"), "/ci/sign-in"},
		"Pretending": {"What a client says of its address counts for nothing.", "10.0.0.0/8", pretending(headers("anna", "shop-devs")),
			"/ci/sign-in"},
		"As the proxy":      {"Nor does what else it says.", "10.0.0.0/8", pretending(http.Header{"X_forwarded_user": {"anna"}}), "/ci/sign-in"},
		"Without the group": {"They may see no team.", "127.0.0.0/8", headers("anna", "everyone"), "/ci/sign-in"},
		"Without a name":    {"The proxy has not authenticated them.", "127.0.0.0/8", headers("", "shop-devs"), "/ci/sign-in"},
		"With two names": {"The client sent one of its own.", "127.0.0.0/8",
			http.Header{"X-Forwarded-User": {"anna", "root"}, "X-Forwarded-Groups": {"shop-devs"}}, "/ci/sign-in"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pages := servePages(t, fmt.Sprintf(config, tc.from), newClock())
			if _, at, _ := get(t, newBrowser(t), pages.URL+"/ci/runs/shop", tc.header); at.Path != tc.want {
				t.Errorf("%s: at %s, want %s", tc.reason, at.Path, tc.want)
			}
		})
	}
	pages := servePages(t, "groups: [{group: shop-devs, team: shop}]", newClock())
	if _, at, _ := get(t, newBrowser(t), pages.URL+"/ci/runs/shop", headers("anna", "shop-devs")); at.Path != "/ci/sign-in" {
		t.Error("headers count without a proxy")
	}
}

// pretending adds what proxies tell about the address of a client.
func pretending(h http.Header) http.Header {
	for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip"} {
		h.Set(name, "10.0.0.1")
	}
	h.Set("Forwarded", "for=10.0.0.1")
	return h
}

// TestActByGroup: the members of a group that may act do, and others only read.
func TestActByGroup(t *testing.T) {
	const config = `
proxy: {userHeader: X-User, groupsHeader: X-Groups, from: [127.0.0.0/8]}
groups: [{group: readers, team: shop}, {group: devs, team: shop, act: true}, {group: devs, team: rival}]
`
	pages := servePages(t, config, newClock())
	cases := map[string]struct {
		reason string
		groups string
		team   string
		want   int
	}{
		"Reads":        {"The group may not act.", "readers", "shop", http.StatusForbidden},
		"Acts":         {"There is no such run, but they may look for it.", "devs", "shop", http.StatusNotFound},
		"Both":         {"One of the groups may act.", "readers,devs", "shop", http.StatusNotFound},
		"Other team":   {"The right is for one team.", "devs", "rival", http.StatusForbidden},
		"None of that": {"The team is not theirs.", "readers", "rival", http.StatusNotFound},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, pages.URL+"/ci/runs/"+tc.team+"/smoke-1/cancel", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"X-User": {"anna"}, "X-Groups": {tc.groups}}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != tc.want {
				t.Errorf("%s: %d, want %d", tc.reason, resp.StatusCode, tc.want)
			}
		})
	}
}
