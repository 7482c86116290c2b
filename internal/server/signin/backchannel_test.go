package signin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// TestProviderEndsSession: the provider ends a session, or all of a person, with a token that no other party can make and
// that is good for nothing else.
func TestProviderEndsSession(t *testing.T) {
	const event = `"events": {"http://schemas.openid.net/event/backchannel-logout": {}}`
	cases := map[string]struct {
		reason string
		claims string        // beside the claims of every token
		after  time.Duration // the session began
		spoil  func(token string) string
		want   int
		ends   bool
	}{
		"The session": {"It is that of the browser.", `"sid": "session-1", "sub": "anna-1", ` + event, time.Minute, nil, http.StatusOK,
			true},
		"Another session": {"It is on another machine of the person.", `"sid": "session-2", "sub": "anna-1", ` + event, time.Minute, nil,
			http.StatusOK, false},
		"The person":        {"All their sessions end.", `"sub": "anna-1", ` + event, time.Minute, nil, http.StatusOK, true},
		"Another person":    {"It is not theirs.", `"sub": "ben", ` + event, time.Minute, nil, http.StatusOK, false},
		"An earlier logout": {"The session began later.", `"sub": "anna-1", ` + event, -time.Minute, nil, http.StatusOK, false},
		"An id_token":       {"It says who somebody is.", `"sub": "anna-1", "nonce": "n", ` + event, 0, nil, http.StatusBadRequest, false},
		"No event":          {"It may be for something else.", `"sub": "anna-1"`, 0, nil, http.StatusBadRequest, false},
		"Nobody":            {"It names neither.", event, 0, nil, http.StatusBadRequest, false},
		"For others":        {"It is for another client.", `"sub": "anna-1", "aud": "another", ` + event, 0, nil, http.StatusBadRequest, false},
		"Forged": {"Its claims were changed.", `"sub": "anna-1", ` + event, 0, func(token string) string {
			parts := strings.Split(token, ".")
			return parts[0] + "." + strings.ToUpper(parts[1]) + "." + parts[2]
		}, http.StatusBadRequest, false},
		"Empty": {"It is no token.", "", 0, func(string) string { return "" }, http.StatusBadRequest, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			provider := newIdentityProvider(t, "shop-devs")
			pages := servePages(t, fmt.Sprintf(oidcConfig, provider.URL), newClock())
			b := newBrowser(t)
			if _, at, _ := get(t, b, pages.URL+"/ci/sign-in/provider?next=/runs/shop", nil); at.Path != "/ci/runs/shop" {
				t.Fatalf("signed in at %s", at)
			}
			claims := fmt.Sprintf(`{"iss": %q, "aud": "postflight", "jti": "j", "iat": %d, "exp": %d`, provider.URL,
				time.Now().Add(tc.after).Unix(), time.Now().Add(time.Hour).Unix())
			if tc.claims != "" {
				claims += ", " + tc.claims
			}
			token := oidctest.SignIDToken(provider.key, "k", "RS256", claims+"}")
			if tc.spoil != nil {
				token = tc.spoil(token)
			}
			for range 2 { // providers send it again
				resp, err := http.PostForm(pages.URL+"/ci/sign-in/back-channel-logout", url.Values{"logout_token": {token}})
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != tc.want {
					t.Errorf("%s: %d, want %d", tc.reason, resp.StatusCode, tc.want)
				}
			}
			if _, at, _ := get(t, b, pages.URL+"/ci/runs/shop", nil); (at.Path == "/ci/sign-in") != tc.ends {
				t.Errorf("%s: at %s", tc.reason, at)
			}
		})
	}
}
