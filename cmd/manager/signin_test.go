package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSignInConfig(t *testing.T) {
	cases := map[string]struct{ config, want string }{
		"Nothing":       {" \n", "is empty"},
		"No public URL": {"oidc: {issuer: https://dex.example.com, clientID: x}", "--public-url"},
		"No issuer":     {"oidc: {clientID: x}", "oidc.issuer"},
		"No client":     {"oidc: {issuer: https://dex.example.com}", "oidc.clientID"},
		"Too often":     {"oidc: {issuer: https://dex.example.com, clientID: x, recheck: 10ms}", "oidc.recheck"},
		"No secret":     {"oidc: {issuer: https://dex.example.com, clientID: x, clientSecretFile: /none}", "oidc.clientSecretFile"},
		"Any proxy":     {"proxy: {userHeader: X-User, groupsHeader: X-Groups}", "proxy: needs"},
		"Bad network":   {"proxy: {userHeader: X-User, groupsHeader: X-Groups, from: [everywhere]}", "proxy.from"},
		"Half a grant":  {"groups: [{group: x}]", "groups[0]"},
		"Unknown field": {"grops: []", "grops"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "sign-in.yaml")
			if err := os.WriteFile(file, []byte(tc.config), 0o600); err != nil {
				t.Fatal(err)
			}
			o := options{signInConfig: file}
			if err := o.loadSignIn(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
