package gitlab

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
)

func TestDecodeComment(t *testing.T) {
	const comment = `{"object_kind": "note", "project": {"path_with_namespace": "acme/shop"}, "merge_request": {"iid": 5, "state": "opened"},
		"object_attributes": {"id": 7, "note": "/postflight rerun", "noteable_type": "MergeRequest", "action": "create", "system": false, "author_id": 9}}` //nolint:misspell // GitLab's name
	const closed = `{"object_kind": "merge_request", "project": {"path_with_namespace": "acme/shop"},
		"object_attributes": {"iid": 5, "action": "close"}}`
	for name, tc := range map[string]struct {
		reason  string
		body    string
		change  []string
		want    *event.Comment
		closed  int64
		ignored string
		invalid string
	}{
		"a comment":              {"it may be a command", comment, nil, &event.Comment{Number: 5, ID: 7, Body: "/postflight rerun", Author: 9}, 0, "", ""},
		"edited":                 {"its reader has not seen it", comment, []string{`"create"`, `"update"`}, nil, 0, `"update"`, ""},
		"of an old version":      {"it does not say what happened", comment, []string{`"action": "create", `, ""}, nil, 0, "16.11", ""},
		"on an issue":            {"nothing was deployed of it", comment, []string{"MergeRequest", "Issue"}, nil, 0, "on merge requests", ""},
		"of GitLab itself":       {"it is no comment of a person", comment, []string{`"system": false`, `"system": true`}, nil, 0, "of people", ""},
		"without an id":          {"it cannot be asked about", comment, []string{`"id": 7`, `"id": 0`}, nil, 0, "", "lacks the id"},
		"no JSON of it":          {"it has other types", comment, []string{`"id": 7`, `"id": "7"`}, nil, 0, "", "not the JSON"},
		"closed":                 {"its runs end", closed, nil, nil, 5, "", ""},
		"merged":                 {"its runs end", closed, []string{`"close"`, `"merge"`}, nil, 5, "", ""},
		"updated":                {"nothing ends", closed, []string{`"close"`, `"update"`}, nil, 0, `"update"`, ""},
		"closed, without number": {"it cannot be asked about", closed, []string{`"iid": 5`, `"iid": 0`}, nil, 0, "", "iid"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Decode(http.Header{}, []byte(strings.NewReplacer(tc.change...).Replace(tc.body)), event.Options{})
			if (err != nil) != (tc.invalid != "") || err != nil && !strings.Contains(err.Error(), tc.invalid) {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, e.Comment); diff != "" || e.Closed != tc.closed || !strings.Contains(e.Ignored, tc.ignored) ||
				(e.Ignored != "") != (tc.ignored != "") {
				t.Errorf("%s: %+v %s", tc.reason, e, diff)
			}
		})
	}
}
