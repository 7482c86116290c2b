package announce_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
)

// aKey is one of n bytes.
func aKey(n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", n)))
}

func TestParseSecret(t *testing.T) {
	named := announce.Receivers(aTeam(aWebhook("a")), nil)[0]
	secret := named
	secret.URL = ""
	slack := announce.Receivers(nil, aTrigger())[0]
	for name, tc := range map[string]struct {
		to   announce.Receiver
		data map[string]string
		keys int
		url  string
		want string // in the problem; empty: none
	}{
		"a webhook":                {named, map[string]string{"secret": aKey(32)}, 1, "https://a.example.com", ""},
		"with its url":             {secret, map[string]string{"secret": aKey(32) + "\n", "url": " https://b.example.com/x?y=z\n"}, 1, "https://b.example.com/x?y=z", ""},
		"the Team wins":            {named, map[string]string{"secret": aKey(32), "url": "https://b.example.com"}, 1, "https://a.example.com", ""},
		"two keys":                 {named, map[string]string{"secret": aKey(24) + "\n" + aKey(64)}, 2, "https://a.example.com", ""},
		"too many keys":            {named, map[string]string{"secret": strings.Repeat(aKey(32)+" ", 5)}, 0, "", "more than 4"},
		"a chat":                   {slack, map[string]string{"url": "https://hooks.example.com/s3cret"}, 0, "https://hooks.example.com/s3cret", ""},
		"plain http is for later":  {slack, map[string]string{"url": "http://mattermost.internal/hooks/x"}, 0, "http://mattermost.internal/hooks/x", ""},
		"nothing":                  {named, nil, 0, "", "no key secret"},
		"a chat without url":       {slack, map[string]string{"secret": aKey(32)}, 0, "", "no key url"},
		"a webhook without url":    {secret, map[string]string{"secret": aKey(32)}, 0, "", "no key url"},
		"not a key":                {named, map[string]string{"secret": "s3cret"}, 0, "", "not whsec_"},
		"a short key":              {named, map[string]string{"secret": aKey(23)}, 0, "", "not whsec_"},
		"a long key":               {named, map[string]string{"secret": aKey(65)}, 0, "", "not whsec_"},
		"not base64":               {named, map[string]string{"secret": "whsec_s3cret!"}, 0, "", "not whsec_"},
		"another scheme":           {slack, map[string]string{"url": "ftp://s3cret.example.com"}, 0, "", "not an https URL"},
		"a file":                   {slack, map[string]string{"url": "file:///etc/passwd"}, 0, "", "not an https URL"},
		"no host":                  {slack, map[string]string{"url": "https:///s3cret"}, 0, "", "not an https URL"},
		"a password":               {slack, map[string]string{"url": "https://u:s3cret@example.com"}, 0, "", "not an https URL"},
		"a fragment":               {slack, map[string]string{"url": "https://example.com/#s3cret"}, 0, "", "not an https URL"},
		"a long url":               {slack, map[string]string{"url": "https://example.com/" + strings.Repeat("a", 2048)}, 0, "", "not an https URL"},
		"a control character":      {slack, map[string]string{"url": "https://example.com/\x00s3cret"}, 0, "", "not an https URL"},
		"a line that is no header": {slack, map[string]string{"url": "https://example.com/a\r\nHost: s3cret"}, 0, "", "not an https URL"},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			for key, value := range tc.data {
				data[key] = []byte(value)
			}
			to, problem := announce.ParseSecret(tc.to, data)
			if (problem == "") != (tc.want == "") || !strings.Contains(problem, tc.want) || to.URL != tc.url || len(to.Keys) != tc.keys {
				t.Errorf("got %+v, %q, want %q", to, problem, tc.want)
			}
			if strings.Contains(problem, "s3cret") {
				t.Errorf("%q reveals what the Secret has", problem)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for name, tc := range map[string]struct {
		kind report.Kind
		want []time.Duration
	}{
		"unavailable": {report.Unavailable, []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute}},
		"rejected":    {report.Rejected, []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, 64 * time.Second, 128 * time.Second, 256 * time.Second, 512 * time.Second, 10 * time.Minute}},
	} {
		for i, want := range tc.want {
			if got := announce.RetryAfter(tc.kind, i+1); got != want {
				t.Errorf("%s: after %d failures %s, want %s", name, i+1, got, want)
			}
		}
		if got := announce.RetryAfter(tc.kind, 1000); got > 10*time.Minute || got <= 0 {
			t.Errorf("%s: after 1000 failures %s", name, got)
		}
	}
}
