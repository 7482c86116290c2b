package credential

import "testing"

func TestInTheClear(t *testing.T) {
	cases := map[string]bool{
		"http://postflight.postflight-system.svc": true,
		"http://postflight.example.com:8080":      true,
		"HTTP://postflight.example.com":           true,
		"http://10.0.0.1":                         true,
		"http://[2001:db8::1]:80":                 true,
		"http://0.0.0.0:8080":                     true,
		"http://localhost.example.com":            true,
		"http://127.0.0.1.example.com":            true,
		"https://postflight.example.com":          false,
		"http://localhost:8080":                   false,
		"http://LOCALHOST.":                       false,
		"http://127.0.0.1:8080":                   false,
		"http://127.9.9.9":                        false,
		"http://[::1]:8080":                       false,
		"http://[::ffff:127.0.0.1]":               false,
	}
	for address, want := range cases {
		if got := InTheClear(address); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}
