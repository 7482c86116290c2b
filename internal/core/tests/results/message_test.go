package results_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

const (
	kept      = 4096 // bytes of a termination message that Kubernetes keeps
	leastKept = 1229 // of a pod with ten containers
)

func failures(n int, message string) []v1alpha1.TestFailure {
	var all []v1alpha1.TestFailure
	for i := range n {
		all = append(all, v1alpha1.TestFailure{
			Name: fmt.Sprintf("checkout > pays with card %d", i), File: "tests/checkout.spec.ts", Line: int32(i + 1),
			Message: message, History: v1alpha1.FailureNew,
		})
	}
	return all
}

func failed(n int, message string) results.Summary {
	return results.Summary{
		Counts: results.Counts{Reports: 1, Tests: int32(n) + 117, Passed: 117, Failed: int32(n), Flaky: 2, Milliseconds: 61_500,
			ComparedWith: "smoke-1", NewFailures: int32(n), Fixed: 1},
		Files: 12, Bytes: 3 << 20, Problem: "The file a.zip is larger than 1 GiB.", Failures: failures(n, message),
	}
}

func TestMessage(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		in     results.Summary
		lost   int // failures
	}{
		"Nothing":       {"A run without files says so.", results.Summary{}, 0},
		"Few":           {"Everything is there.", failed(3, "expected 200, got 500"), 0},
		"Many":          {"Twenty are enough for the status.", failed(50, ""), 30},
		"LongMessages":  {"Messages are cut, not failures.", failed(20, strings.Repeat("<é>", 300)), 0},
		"EscapedLetter": {"Escaping needs room.", failed(20, strings.Repeat(`"\`, 500)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			text := results.Message(tc.in)
			got, ok := results.ParseMessage(text)
			if !ok || len(text) > kept || !utf8.ValidString(text) {
				t.Fatalf("%s\n%d bytes, read %v: %s", tc.reason, len(text), ok, text)
			}
			want := tc.in
			want.Failures = want.Failures[:len(want.Failures)-tc.lost]
			if len(got.Failures) != len(want.Failures) {
				t.Fatalf("%s\n%d of %d failures: %s", tc.reason, len(got.Failures), len(want.Failures), text)
			}
			if strings.HasPrefix(name, "Long") || strings.HasPrefix(name, "Escaped") {
				for i := range got.Failures {
					if len(got.Failures[i].Message) < 20 {
						t.Errorf("%s\nlittle is left of the message: %q", tc.reason, got.Failures[i].Message)
					}
					got.Failures[i].Message = want.Failures[i].Message
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMessageHasRoom: names of tests never make a message too long, nor take all of the room of failures.
func TestMessageHasRoom(t *testing.T) {
	for _, passes := range []int{0, 1, 100, 230, 400, 401, 5000} {
		for _, fails := range []int{0, 1, 20, 230, 400, 401} {
			tests := suite(append(numbered("", passes), numbered("!failed ", fails)...)...)
			s := tests.Summary()
			s.Problem, s.ComparedWith = strings.Repeat("ö", 256), strings.Repeat("x", 253)
			s.Flaky, s.FlakyTests = int32(min(passes, 5)), slices.Repeat([]string{strings.Repeat("f", 500)}, 5)
			text := results.Message(s)
			got, ok := results.ParseMessage(text)
			if !ok || len(text) > kept || len(got.Failures) < min(fails, 18) || got.Passed != int32(passes) || got.Failed != int32(fails) {
				t.Errorf("%d passed, %d failed: %d bytes, %d failures", passes, fails, len(text), len(got.Failures))
			}
			if fails == 0 && passes <= 230 && got.PassedTests != s.PassedTests || passes > 400 && got.PassedTests != "" {
				t.Errorf("%d passed: %d bytes of names", passes, len(got.PassedTests))
			}
		}
	}
}

// TestMessageIsCut: whatever number of bytes Kubernetes keeps, the counts arrive.
func TestMessageIsCut(t *testing.T) {
	whole := failed(20, strings.Repeat("€", 300))
	whole.Problem = strings.Repeat("ö", 500)
	whole.ComparedWith = strings.Repeat("x", 300)
	text := results.Message(whole)
	for size := leastKept; size <= len(text); size++ {
		got, ok := results.ParseMessage(text[:size])
		if !ok || got.Tests != 137 || got.Failed != 20 || got.NewFailures != 20 || got.Problem == "" {
			t.Fatalf("cut to %d bytes: read %v, %+v", size, ok, got)
		}
	}
}

func TestParseMessage(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, text string
		want         results.Summary
		foreign      bool
	}{
		"Empty":       {reason: "A collector that was killed leaves nothing.", foreign: true},
		"Foreign":     {reason: "Any program can write a message.", text: "signal: killed", foreign: true},
		"OtherTypes":  {reason: "It is not ours.", text: `{"tests":"many"}`, foreign: true},
		"HugeNumber":  {reason: "It fits no count.", text: `{"passed":1e99}`, foreign: true},
		"Negative":    {reason: "Counts start at 0.", text: `{"unread":0,"reports":1,"passed":-5,"failed":2,"bytes":-1,"milliseconds":-1}`, want: results.Summary{Counts: results.Counts{Reports: 1, Tests: 2, Failed: 2}}},
		"TooLarge":    {reason: "Counts of all pods must add up.", text: `{"unread":0,"reports":1,"passed":2147483647,"flaky":2147483647,"bytes":9223372036854775807}`, want: results.Summary{Counts: results.Counts{Reports: 1, Tests: 200_000, Passed: 200_000, Flaky: 200_000}, Bytes: 1 << 40}},
		"WrongSum":    {reason: "The sum is made here.", text: `{"unread":0,"reports":1,"tests":7,"passed":1}`, want: results.Summary{Counts: results.Counts{Reports: 1, Tests: 1, Passed: 1}}},
		"NotCompared": {reason: "Without a run, nothing is new.", text: `{"unread":0,"reports":1,"failed":1,"newFailures":1,"fixed":1}`, want: results.Summary{Counts: results.Counts{Reports: 1, Tests: 1, Failed: 1}}},
		"ControlCodes": {
			reason: "What is shown in a status and a terminal is text.",
			text:   `{"unread":0,"reports":1,"failed":1,"problem":"a\u0007\u001b[31mb\u202e"}` + "\n" + `{"name":"\u0000\u001b]0;title\u0007n","message":"m\r\nsecond","line":-3,"history":"Old"}`,
			want: results.Summary{Counts: results.Counts{Reports: 1, Tests: 1, Failed: 1}, Problem: "ab",
				Failures: []v1alpha1.TestFailure{{Name: "n", Message: "m"}}},
		},
		"MoreFailuresThanCounted": {reason: "The count counts.", text: `{"unread":0,"reports":1,"passed":1}` + "\n" + `{"name":"n"}`, want: results.Summary{Counts: results.Counts{Reports: 1, Tests: 1, Passed: 1}}},
		"Older": {reason: "An earlier version did not count what it could not read.", text: `{"reports":1,"passed":1}`,
			want: results.Summary{Counts: results.Counts{Reports: 1, Tests: 1, Passed: 1}, Older: true}},
		"Names": {reason: "They are cleaned like those of failures.", text: `{"unread":0,"reports":1,"passed":2,"flaky":1}` + "\n" + `["flaky","a\u0007"]` + "\n" + `["flaky","b"]` + "\n" + `["new","x"]` + "\n" + `["passed","AAAAAAAABBBBBBBB"]`,
			want: results.Summary{Counts: results.Counts{Reports: 1, Tests: 2, Passed: 2, Flaky: 1}, FlakyTests: []string{"a"}, PassedTests: "AAAAAAAABBBBBBBB"}},
		"WrongSet": {reason: "A set that lacks names proves nothing.", text: `{"unread":0,"reports":1,"passed":3}` + "\n" + `["passed","AAAAAAAABBBBBBBB"]`,
			want: results.Summary{Counts: results.Counts{Reports: 1, Tests: 3, Passed: 3}}},
		"NoName":      {reason: "The schema demands a name.", text: `{"unread":0,"reports":1,"failed":1}` + "\n{}", want: results.Summary{Counts: results.Counts{Reports: 1, Tests: 1, Failed: 1}, Failures: []v1alpha1.TestFailure{{Name: "(a test without a name)"}}}},
		"InvalidUTF8": {reason: "The API server refuses it.", text: "{\"unread\":0,\"reports\":1,\"failed\":1}\n{\"name\":\"a\xff\"}", want: results.Summary{Counts: results.Counts{Reports: 1, Tests: 1, Failed: 1}, Failures: []v1alpha1.TestFailure{{Name: "a\uFFFD"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := results.ParseMessage(tc.text)
			if ok == tc.foreign {
				t.Fatalf("%s\nread: %v", tc.reason, ok)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzParseMessage: what comes out is fit for a status, and for the message of a run.
func FuzzParseMessage(f *testing.F) {
	f.Add(results.Message(failed(3, "expected 200")))
	f.Add(`{"reports":1,"passed":-1,"failed":2147483647}` + "\n" + `{"name":"\ud800","line":2147483647}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := results.ParseMessage(text)
		if !ok {
			return
		}
		unfit := func(text string) bool {
			return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
		}
		r := results.Status(results.Merge([]results.Pod{{Name: "a", Summary: s}, {Name: "b", Summary: s}}))
		if unfit(s.Problem) || unfit(s.ComparedWith) || unfit(results.Sentence(r)) || len(results.Sentence(r)) > 320 {
			t.Errorf("not fit to show: %+v", s)
		}
		if r == nil {
			return
		}
		if r.Tests != r.Passed+r.Failed+r.Skipped || r.Tests < 0 || r.Flaky > r.Passed || r.NewFailures+r.KnownFailures > r.Failed {
			t.Errorf("the counts disagree: %+v", r)
		}
		for _, f := range r.Failures {
			if unfit(f.Name) || unfit(f.File) || unfit(f.Message) || f.Name == "" || len(f.Name) > 512 || len(f.Message) > 1024 || f.Line < 0 {
				t.Errorf("not fit for a status: %+v", f)
			}
		}
	})
}
