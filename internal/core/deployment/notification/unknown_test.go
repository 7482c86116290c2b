package notification

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
)

func TestHint(t *testing.T) {
	for name, tc := range map[string]struct{ body, want string }{
		"known members": {`{"branch":"main","sha":null,"merge_request_number":1}`, ""},
		"a typo":        {`{"brnch":"main"}`, `The member "brnch" is unknown and was ignored: did you mean "branch"?`},
		"camel case":    {`{"deploymentType":"x"}`, `The member "deploymentType" is unknown and was ignored: did you mean "deployment_type"?`},
		"hyphens":       {`{"deployment-url":"x"}`, `The member "deployment-url" is unknown and was ignored: did you mean "deployment_url"?`},
		"capitals":      {`{"SHA":"x"}`, `The member "SHA" is unknown and was ignored: did you mean "sha"?`},
		"another word":  {`{"workflow":"x"}`, `The member "workflow" is unknown and was ignored.`},
		"two": {`{"barnch":"main","x":1}`,
			`The member "barnch" is unknown and was ignored: did you mean "branch"? The member "x" is unknown and was ignored.`},
		"below a member": {`{"variables":{"brnch":"x"},"repository":{"owner":"a","name":"b","id":1}}`, ""},
		"hostile":        {`{"\u001b[2J\n::x":1}`, `The member "\x1b[2J\n::x" is unknown and was ignored.`},
		"very long": {`{"` + strings.Repeat("a", 1000) + `":1}`,
			`The member "` + strings.Repeat("a", maxQuoted) + `…" is unknown and was ignored.`},
		"the first five": {`{"aaaaaa":1,"bbbbbb":1,"cccccc":1,"dddddd":1,"eeeeee":1,"ffffff":1}`,
			"The member \"aaaaaa\" is unknown and was ignored. The member \"bbbbbb\" is unknown and was ignored. " +
				"The member \"cccccc\" is unknown and was ignored. The member \"dddddd\" is unknown and was ignored. " +
				"The member \"eeeeee\" is unknown and was ignored."},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := Decode([]byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := n.Hint(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestMembersAreKnown: what a Hint suggests is a member that Decode reads.
func TestMembersAreKnown(t *testing.T) {
	for _, name := range members {
		if n, err := Decode([]byte(`{"` + name + `":null}`)); err != nil || len(n.Unknown) > 0 {
			t.Errorf("%s: %v, unknown %v", name, err, n.Unknown)
		}
	}
}

// TestMembersAreAll: what the client of this API sends is suggested, too.
func TestMembersAreAll(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[httpapi.Notification]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !slices.Contains(members, name) {
			t.Errorf("%s is missing", name)
		}
	}
}
