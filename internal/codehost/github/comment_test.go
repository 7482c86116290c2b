package github_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/codehost/github"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/test/codehost"
)

const marker = "<!-- postflight acme -->"

func commentRequest(c report.Credentials, text string, id int64) report.CommentRequest {
	r := request(c, "", "")
	r.Purpose = report.Comments
	return report.CommentRequest{Request: r, Number: 5, ID: id, Marker: marker, Body: marker + "\n" + text}
}

func TestPullRequest(t *testing.T) {
	other := "b" + sha[1:]
	cases := map[string]struct {
		exist  []codehost.PullRequest
		number int64
		branch string
		want   int64
	}{
		"none":                         {nil, 0, "main", 0},
		"of the branch and the commit": {[]codehost.PullRequest{{Number: 5, Branch: "cart", SHA: sha}}, 0, "cart", 5},
		"without a branch":             {[]codehost.PullRequest{{Number: 5, Branch: "cart", SHA: sha}}, 0, "", 5},
		"of several, the first": {[]codehost.PullRequest{{Number: 7, Branch: "cart", SHA: sha},
			{Number: 5, Branch: "cart", SHA: sha}}, 0, "cart", 5},
		"of another branch": {[]codehost.PullRequest{{Number: 5, Branch: "cart", SHA: sha}}, 0, "main", 0},
		"of another commit": {[]codehost.PullRequest{{Number: 5, Branch: "cart", SHA: other}}, 0, "cart", 0},
		"closed":            {[]codehost.PullRequest{{Number: 5, Branch: "cart", SHA: sha, Closed: true}}, 0, "cart", 0},
		"notified": {[]codehost.PullRequest{{Number: 5, Branch: "cart", SHA: other}, {Number: 6, SHA: sha}}, 5,
			"main", 5},
		"notified, and closed in the meantime": {[]codehost.PullRequest{{Number: 5, Closed: true}}, 5, "", 5},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitHub(t)
			for _, p := range tc.exist {
				fake.Open(p)
			}
			r := commentRequest(token(fake), "", 0).Request
			r.PullRequest, r.Branch = tc.number, tc.branch
			got, err := github.New(fake.URL, outbound.New()).PullRequest(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == 0 {
				if got != nil {
					t.Errorf("got %+v", got)
				}
				return
			}
			if got == nil || got.Number != tc.want || got.URL != fmt.Sprintf("https://github.com/acme/shop/pull/%d", tc.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestPullRequestThatDoesNotExist(t *testing.T) {
	fake := codehost.GitHub(t)
	r := commentRequest(token(fake), "", 0).Request
	r.PullRequest = 5
	_, err := github.New(fake.URL, outbound.New()).PullRequest(t.Context(), r)
	if got := problem(t, err); got.Kind != report.Rejected || !strings.Contains(got.Message, "knows no such pull request in acme/shop") {
		t.Errorf("got %+v", got)
	}
}

func TestComment(t *testing.T) {
	for name, credentials := range map[string]func(*codehost.Host) report.Credentials{
		"app": func(*codehost.Host) report.Credentials { return app() }, "token": token,
	} {
		t.Run(name, func(t *testing.T) {
			fake := codehost.GitHub(t)
			fake.Open(codehost.PullRequest{Number: 5})
			for i := range 150 { // more than a page
				fake.Say("acme/shop", 5, codehost.Stranger, fmt.Sprint("looks good ", i))
			}
			fake.Say("acme/shop", 5, codehost.Stranger, marker+"\nAll tests passed")
			h := github.New(fake.URL, outbound.New())
			say := func(text string, id int64) int64 {
				t.Helper()
				got, err := h.Comment(t.Context(), commentRequest(credentials(fake), text, id))
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			id := say("one", 0)
			say("two", id)
			say("two", id) // nothing to do
			if got := say("three", 0); got != id {
				t.Errorf("without the number, the comment %d is used, want %d", got, id)
			}
			if diff := cmp.Diff([]string{marker + "\nthree"}, fake.Comments(5)[151:]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if writes := len(fake.CommentWrites()); writes != 3 {
				t.Errorf("%d writes", writes)
			}
			fake.RemoveComments(5)
			if say("four", id); !cmp.Equal([]string{marker + "\nfour"}, fake.Comments(5)) {
				t.Errorf("after the comment was deleted, there are %q", fake.Comments(5))
			}
		})
	}
}

// TestTwoLeadersComment: of comments that are created at the same time, one is left, with what was written last.
func TestTwoLeadersComment(t *testing.T) {
	for range 10 {
		fake := codehost.GitHub(t)
		fake.Open(codehost.PullRequest{Number: 5})
		var leaders sync.WaitGroup
		for i := range 2 {
			leaders.Go(func() {
				if _, err := github.New(fake.URL, outbound.New()).Comment(t.Context(), commentRequest(token(fake), fmt.Sprint(i), 0)); err != nil {
					t.Error(err)
				}
			})
		}
		leaders.Wait()
		if _, err := github.New(fake.URL, outbound.New()).Comment(t.Context(), commentRequest(token(fake), "end", 0)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{marker + "\nend"}, fake.Comments(5)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}
