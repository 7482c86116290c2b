package replicas

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tokens"
)

// listIssuer returns the flag of a manager that lists a CI system.
func listIssuer(t *testing.T, ci *tokens.Issuer) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "issuers.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "issuers: [{name: ci, url: %q}]", ci.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--token-issuers=" + file
}

// trusts makes a TrustPolicy for jobs that have a claim.
func (tm *team) trusts(ci *tokens.Issuer, claim, value string) {
	tm.t.Helper()
	p := &v1alpha1.TrustPolicy{ObjectMeta: tm.meta("ci")}
	p.Spec.Issuer, p.Spec.Claims = ci.URL, map[string]v1alpha1.ClaimValues{claim: {value}}
	p.Spec.Allow.Notify, p.Spec.Allow.Upload, p.Spec.Allow.Read = &v1alpha1.TrustNotify{}, true, true
	tm.create(p)
}

// token sends what a CI job does: with the name of its team, it reaches that, and without, no other one, whoever trusts it.
func (n *neighbor) token() error {
	token := n.ci.Sign(tokens.GitHub(n.ci.URL, time.Now()))
	return errors.Join(n.sendToken(token, n.namespace, http.StatusOK, "suite_id"), n.sendToken(token, "", http.StatusForbidden, "names no Team"))
}

func (n *neighbor) sendToken(token, team string, status int, says string) error {
	request, err := http.NewRequestWithContext(n.t.Context(), http.MethodPost, n.r.URL+"/api/webhooks/deploy_success", strings.NewReader(`{"branch":"main"}`))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	if team != "" {
		request.Header.Set("Postflight-Team", team)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != status || !strings.Contains(string(content), says)) {
		err = fmt.Errorf("for the team %q: status %d: %s", team, response.StatusCode, content)
	}
	return err
}
