package github

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
)

func TestDecodeComment(t *testing.T) {
	const comment = `{"action": "created", "repository": {"full_name": "acme/shop"}, "sender": {"login": "alice"},
		"issue": {"number": 5, "pull_request": {"url": "https://api.github.com/repos/acme/shop/pulls/5"}},
		"comment": {"id": 7, "body": "/postflight rerun", "user": {"id": 9, "login": "alice"}}}`
	const closed = `{"action": "closed", "number": 5, "repository": {"full_name": "acme/shop"}, "pull_request": {"state": "closed"}}`
	for name, tc := range map[string]struct {
		reason  string
		kind    string
		body    string
		change  []string
		want    *event.Comment
		closed  int64
		ignored string
		invalid string
	}{
		"a comment":              {"it may be a command", "issue_comment", comment, nil, &event.Comment{Number: 5, ID: 7, Body: "/postflight rerun", Author: 9}, 0, "", ""},
		"edited":                 {"its reader has not seen it", "issue_comment", comment, []string{`"created"`, `"edited"`}, nil, 0, `"edited"`, ""},
		"deleted":                {"it is gone", "issue_comment", comment, []string{`"created"`, `"deleted"`}, nil, 0, `"deleted"`, ""},
		"on an issue":            {"nothing was deployed of it", "issue_comment", comment, []string{`"pull_request"`, `"labels"`}, nil, 0, "on an issue", ""},
		"null":                   {"GitHub might send that of an issue", "issue_comment", comment, []string{`{"url": "https://api.github.com/repos/acme/shop/pulls/5"}`, "null"}, nil, 0, "on an issue", ""},
		"without an id":          {"it cannot be asked about", "issue_comment", comment, []string{`"id": 7`, `"id": 0`}, nil, 0, "", "comment.id"},
		"without a number":       {"it cannot be asked about", "issue_comment", comment, []string{`"number": 5`, `"number": -5`}, nil, 0, "", "issue.number"},
		"no JSON of it":          {"it has other types", "issue_comment", comment, []string{`"id": 7`, `"id": "7"`}, nil, 0, "", "not the JSON"},
		"closed":                 {"its runs end", "pull_request", closed, nil, nil, 5, "", ""},
		"opened":                 {"nothing ends", "pull_request", closed, []string{`"closed", "number"`, `"opened", "number"`}, nil, 0, `"opened"`, ""},
		"closed, without number": {"it cannot be asked about", "pull_request", closed, []string{`"number": 5`, `"number": 0`}, nil, 0, "", "number"},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{"X-Github-Event": {tc.kind}}
			e, err := Decode(h, []byte(strings.NewReplacer(tc.change...).Replace(tc.body)), event.Options{})
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
