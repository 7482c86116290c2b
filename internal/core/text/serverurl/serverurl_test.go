package serverurl_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/text/serverurl"
)

func TestCheck(t *testing.T) {
	for address, want := range map[string]string{
		"https://api.github.com":          "",
		"https://ghe.example.com/api/v3/": "",
		"http://127.0.0.1:8080":           "",
		"http://[::1]:8080/x":             "",
		"http://[::ffff:127.0.0.1]":       "",
		"http://localhost:8080":           "",
		"http://LOCALHOST.":               "",
		"http://gitlab.example.com":       "must be an https URL, because of the test",
		"http://127.0.0.1.example.com":    "must be an https URL",
		"http://localhost.example.com":    "must be an https URL",
		"http://0.0.0.0":                  "must be an https URL",
		"api.github.com":                  "absolute",
		"ftp://example.com":               "absolute",
		"":                                "absolute",
		"https://u:p@example.com":         "no user",
		"https://example.com/?a=b":        "no user",
		"https://example.com/?":           "no user",
		"https://example.com/#a":          "no user",
		"https://exa mple.com":            "absolute",
	} {
		err := serverurl.Check(address, "of the test")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", address, err, want)
		}
	}
}

func TestInTheClear(t *testing.T) {
	for address, want := range map[string]bool{
		"http://gitlab.example.com":  true,
		"HTTP://gitlab.example.com":  true,
		"http://10.0.0.1":            true,
		"https://gitlab.example.com": false,
		"http://127.9.9.9":           false,
		"file:///etc/passwd":         false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := serverurl.InTheClear(u); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}
