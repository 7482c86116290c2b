package notification

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestCommand pastes into a shell what anyone may have named.
func TestCommand(t *testing.T) {
	for name, tc := range map[string]struct {
		deployment v1alpha1.Deployment
		rerun      bool
		want       string
	}{
		"nothing is known": {want: "postflight notify --no-detect"},
		"everything": {v1alpha1.Deployment{SHA: "v1.2", Branch: "fix/cart", Type: "staging", URL: "https://example.com/?a=b", Repository: "acme/shop",
			Service: "cart", PullRequestNumber: 7}, true, "postflight notify --no-detect --rerun --sha v1.2 --branch fix/cart --type staging " +
			"--deployment-url 'https://example.com/?a=b' --repository acme/shop --service cart --pull-request 7"},
		"commands in names": {v1alpha1.Deployment{Branch: "a;$(reboot)'`id`", Service: "--wait"}, false,
			`postflight notify --no-detect --branch 'a;$(reboot)'\''` + "`id`" + `' --service '--wait'`},
		"what cannot be pasted": {v1alpha1.Deployment{SHA: "a\x1b[31m", Branch: strings.Repeat("b", 257), Type: "staging"}, false,
			"postflight notify --no-detect --type staging"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Command(tc.deployment, tc.rerun); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
