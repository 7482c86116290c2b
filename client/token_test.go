package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/client"
)

// issuer gives out tokens that expire, as a CI system does.
type issuer struct {
	life   time.Duration // of each token
	renews bool          // otherwise there is only the first one
	token  string
	asked  int
}

func (i *issuer) Token(_ context.Context, refused string) (string, error) {
	if i.token == "" || i.renews && i.token == refused {
		i.asked++
		i.token = fmt.Sprintf("token-%d until %d", i.asked, time.Now().Add(i.life).Unix())
	}
	return i.token, nil
}

func (*issuer) Explain(string) string { return "It is five minutes old." }

// service answers as the server does, in the process and with the clock of the test, and refuses tokens that have expired.
type service struct {
	issuer *issuer
	run    time.Duration // until the run ends
	waits  time.Duration // how long wait tokens live; 0: the server gives none
	repeat string        // the run that repeats it
	newer  string        // the run that supersedes it

	began time.Time
	sent  []string // which token each request had
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, r)
	response := recorder.Result()
	response.Request = r
	return response, nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	name, _, _ := strings.Cut(token, " ")
	s.sent = append(s.sent, name)
	var until int64
	if _, err := fmt.Sscanf(token, name+" until %d", &until); err != nil || time.Now().Unix() >= until {
		refuse(w, http.StatusUnauthorized, "unauthenticated", "The token has expired.")
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/api/")
	if name == "pfw_" && strings.Contains(path, "uncovered-") {
		refuse(w, http.StatusNotFound, "run_not_found", "There is no such run.")
		return
	}
	switch {
	case path == "webhooks/deploy_success":
		result := map[string]any{"results": []map[string]any{{"trigger_id": "smoke", "created_suite_id": "smoke-1"}}}
		if s.waits > 0 {
			until := time.Now().Add(s.waits).UTC()
			result["wait_token"], result["wait_token_expires_at"] = fmt.Sprintf("pfw_ until %d", until.Unix()), until
		}
		_ = respondJSON(w, result)
	case strings.HasPrefix(path, "v0/ci-greenlight/"):
		held, _ := time.ParseDuration(r.URL.Query().Get("wait") + "s")
		time.Sleep(min(held, max(0, s.run-time.Since(s.began))))
		answer := map[string]any{"rootRunId": "smoke-1", "relevantRunId": s.newer, "repeatedByRunId": s.repeat, "runStage": "initializing"}
		if time.Since(s.began) >= s.run {
			answer["runStage"], answer["greenlight"] = "completed", true
		}
		_ = respondJSON(w, answer)
	case strings.HasSuffix(path, "/logs"):
		w.Header().Set("Content-Type", "text/plain")
	default:
		_ = respondJSON(w, map[string]any{})
	}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"https://postflight.dev/problems/%s","title":"t","status":%d,"failureCode":%[1]q,"failureMessage":%[3]q,`+
		`"eventId":"E1"}`, code, status, message)
}

func respondJSON(w http.ResponseWriter, body any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(body)
}

// TestWaitLongerThanAToken: tokens of GitHub live five minutes, and tests take thirty.
func TestWaitLongerThanAToken(t *testing.T) {
	const life, run = 5 * time.Minute, 30 * time.Minute
	cases := map[string]struct {
		reason  string
		service service
		own     int    // requests with tokens of the sender
		tokens  int    // of the sender
		says    string // "": the run passes
	}{
		"a wait token": {reason: "only the notification and the list of runs need the sender's own",
			service: service{waits: 2 * time.Hour, issuer: &issuer{life: life}}, own: 1, tokens: 1},
		"a wait token and a run that is repeated": {
			service: service{waits: 2 * time.Hour, issuer: &issuer{life: life}, repeat: "smoke-1-2"}, own: 1, tokens: 1},
		"no wait token, and tokens that can be renewed": {reason: "each is used until the server refuses it",
			service: service{issuer: &issuer{life: life, renews: true}}, own: 39, tokens: 6},
		"a wait token that ends too early, and tokens that can be renewed": {reason: "the sender's own token comes after it",
			service: service{waits: 10 * time.Minute, issuer: &issuer{life: life, renews: true}}, own: 27, tokens: 5},
		"neither": {reason: "GitLab makes one token per job, and the server is old",
			service: service{issuer: &issuer{life: life}}, own: 8, tokens: 1, says: "It is five minutes old."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &tc.service
				s.run, s.began = run, time.Now()
				c, err := client.New("http://x", "", client.WithTokens(s.issuer), client.WithHTTPClient(&http.Client{Transport: s}))
				if err != nil {
					t.Fatal(err)
				}
				result, err := c.Notify(t.Context(), client.Notification{Branch: "main"})
				if err != nil || result.WaitToken != "" || result.WaitTokenExpiresAt != nil {
					t.Fatalf("%v: the answer has the token, so that printing it prints a secret: %+v", err, result)
				}
				answer, err := c.Await(t.Context(), "smoke-1")
				if tc.says != "" {
					if err == nil || !strings.Contains(err.Error(), tc.says) {
						t.Errorf("%s: %v, want %q", tc.reason, err, tc.says)
					}
				} else if err != nil || !answer.Greenlight {
					t.Fatalf("%s: %+v, %v", tc.reason, answer, err)
				}
				if tc.service.repeat != "" {
					if _, err := c.Results(t.Context(), "smoke-1-2"); err != nil {
						t.Errorf("the tests of the run that repeats it: %v", err)
					}
				}
				own := len(s.sent) - len(slices.DeleteFunc(slices.Clone(s.sent), func(name string) bool { return name != "pfw_" }))
				if own != tc.own || s.issuer.asked != tc.tokens {
					t.Errorf("%s: %d requests with %d tokens of the sender, want %d with %d: %v", tc.reason, own, s.issuer.asked, tc.own, tc.tokens,
						s.sent)
				}
			})
		})
	}
}

// TestWhichTokenIsSent: a wait token reads its run, and does nothing else.
func TestWhichTokenIsSent(t *testing.T) {
	cases := map[string]struct {
		do   func(context.Context, *client.Client) error
		want []string
	}{
		"run":     {func(ctx context.Context, c *client.Client) error { _, err := c.Run(ctx, "smoke-1"); return err }, []string{"pfw_"}},
		"results": {func(ctx context.Context, c *client.Client) error { _, err := c.Results(ctx, "smoke-1"); return err }, []string{"pfw_"}},
		"attestation": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Attestation(ctx, "smoke-1")
			return err
		}, []string{"pfw_"}},
		"artifacts": {func(ctx context.Context, c *client.Client) error { return last(c.Artifacts(ctx, "smoke-1", "")) }, []string{"token-1"}},
		"log": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Logs(ctx, "smoke-1", client.LogOptions{})
			return err
		}, []string{"token-1"}},
		"greenlight": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Greenlight(ctx, "smoke-1", 0)
			return err
		}, []string{"pfw_"}},
		"a newer deployment": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Greenlight(ctx, "smoke-1", 0)
			_, readErr := c.Run(ctx, "newer-1")
			return errors.Join(err, readErr)
		}, []string{"pfw_", "pfw_"}},
		"one that the token does not cover": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Greenlight(ctx, "smoke-1", 0)
			_, readErr := c.Run(ctx, "uncovered-1")
			return errors.Join(err, readErr)
		}, []string{"pfw_", "pfw_", "token-1"}},
		"cancel":    {func(ctx context.Context, c *client.Client) error { _, err := c.Cancel(ctx, "smoke-1"); return err }, []string{"token-1"}},
		"rerun":     {func(ctx context.Context, c *client.Client) error { _, err := c.Rerun(ctx, "smoke-1"); return err }, []string{"token-1"}},
		"other run": {func(ctx context.Context, c *client.Client) error { _, err := c.Run(ctx, "smoke-2"); return err }, []string{"token-1"}},
		"all runs":  {func(ctx context.Context, c *client.Client) error { return last(c.Runs(ctx, client.RunFilter{})) }, []string{"token-1"}},
		"whoami":    {func(ctx context.Context, c *client.Client) error { _, err := c.WhoAmI(ctx); return err }, []string{"token-1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &service{waits: time.Hour, issuer: &issuer{life: time.Hour}, began: time.Now(), newer: "newer-1", repeat: "uncovered-1"}
			c, err := client.New("http://x", "", client.WithTokens(s.issuer), client.WithHTTPClient(&http.Client{Transport: s}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Notify(t.Context(), client.Notification{Branch: "main"}); err != nil {
				t.Fatal(err)
			}
			if err := tc.do(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.sent[1:]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func last[T any](list func(func(T, error) bool)) (err error) {
	list(func(_ T, e error) bool { err = e; return true })
	return err
}

// broken is a source that has a token only later.
type broken struct {
	failures int
	passing  bool
	asked    int
}

func (b *broken) Token(context.Context, string) (string, error) {
	if b.asked++; b.asked <= b.failures {
		return "", &sourceError{b.passing}
	}
	return fmt.Sprintf("token until %d", time.Now().Add(time.Hour).Unix()), nil
}

type sourceError struct{ passing bool }

func (*sourceError) Error() string     { return "The issuer answered 502." }
func (e *sourceError) Temporary() bool { return e.passing }

func TestTokenSourceFails(t *testing.T) {
	cases := map[string]struct {
		source broken
		asked  int
		fails  bool
	}{
		"for a moment":    {source: broken{failures: 3, passing: true}, asked: 4},
		"for long":        {source: broken{failures: 1000, passing: true}, asked: 12, fails: true},
		"until it is set": {source: broken{failures: 1000}, asked: 1, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{}
				c, err := client.New("http://x", "", client.WithTokens(&tc.source), client.WithHTTPClient(&http.Client{Transport: s}))
				if err != nil {
					t.Fatal(err)
				}
				_, err = c.WhoAmI(t.Context())
				if (err != nil) != tc.fails || tc.source.asked != tc.asked || tc.fails && len(s.sent) > 0 {
					t.Errorf("%v after %d attempts and %d requests", err, tc.source.asked, len(s.sent))
				}
			})
		})
	}
}

func TestTeam(t *testing.T) {
	for _, team := range []string{"", "acme"} {
		var got []string
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header.Values("Postflight-Team")
			_ = respondJSON(w, map[string]any{"team": "acme"})
		})
		if who, err := connect(t, url, client.WithTeam(team)).WhoAmI(t.Context()); err != nil || who.Team != "acme" {
			t.Fatal(who, err)
		}
		if strings.Join(got, ",") != team || len(got) > 1 {
			t.Errorf("the header Postflight-Team is %q, want %q", got, team)
		}
	}
}
