package main

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/poll"
)

// refusesTokens checks what else an account, or a pod of a run, might send. None of it creates anything.
func (w *hookWorld) refusesTokens() {
	w.create(&corev1.ServiceAccount{ObjectMeta: w.meta("stranger")})
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"postflight"}}}
	stranger := &corev1.ServiceAccount{ObjectMeta: w.meta("stranger")}
	w.must(w.s.Client.SubResource("token").Create(w.t.Context(), stranger, request))
	hook, other := w.pod("another", nil), strings.Repeat("a", len(w.namespace))
	for name, tc := range map[string]struct {
		bearer string
		status int
	}{
		"the audience of the API":  {w.token(nil), http.StatusUnauthorized},
		"another audience":         {w.token(nil, "vault"), http.StatusUnauthorized},
		"the token of a collector": {w.token(hook, job.TokenAudience), http.StatusUnauthorized},
		"a token that was changed": {changed(w.token(hook, "postflight"), w.namespace, other), http.StatusUnauthorized},
		"an expired token":         {w.ended(hook), http.StatusUnauthorized},
		"a token of another issuer": {w.resigned(hook, func(c map[string]any) { c["aud"], c["iss"] = "postflight", "https://other" }),
			http.StatusUnauthorized},
		"a token of a pod that is no more": {w.tokenOfGone("no-more"), http.StatusUnauthorized},
		"an account without a binding":     {request.Status.Token, http.StatusForbidden},
	} {
		w.t.Run(name, func(t *testing.T) {
			var answer notified
			status := w.at(t).sends(http.MethodPost, "/api/webhooks/deploy_success", tc.bearer, "", `{"branch":"main","sha":"refused"}`, &answer)
			if status != tc.status || answer.Detail == "" {
				t.Errorf("%d %+v, want %d", status, answer, tc.status)
			}
		})
	}
	var suites v1alpha1.SuiteList
	w.must(w.s.Client.List(w.t.Context(), &suites, client.InNamespace(w.namespace)))
	for _, run := range suites.Items {
		if run.Spec.Deployment.SHA == "refused" {
			w.t.Errorf("the run %s was created", run.Name)
		}
	}
}

// changed is a token with another text in its claims.
func changed(token, from, to string) string {
	parts := strings.Split(token, ".")
	claims, _ := base64.RawURLEncoding.DecodeString(parts[1]) // of a token that was just issued
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.ReplaceAll(string(claims), from, to)))
	return strings.Join(parts, ".")
}

// ended is a token that was good a minute ago.
func (w *hookWorld) ended(p *corev1.Pod) string {
	now := float64(time.Now().Unix())
	return w.resigned(p, func(c map[string]any) {
		c["aud"], c["exp"], c["iat"], c["nbf"] = "postflight", now-60, now-3600, now-3600
	})
}

// refusesForged sends tokens whose claims are good, and whose signatures are not.
func (w *hookWorld) refusesForged() {
	good := w.token(nil, "postflight")
	claims := good[:strings.LastIndex(good, ".")+1]
	before := w.reviews()
	const count = 200
	for i := range count {
		forged := claims + base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(make([]byte, 56), uint64(i)))
		if status, _, problem := w.whoAmI(forged, ""); status != http.StatusUnauthorized {
			w.t.Fatalf("a forged token: %d %+v", status, problem)
		}
	}
	w.isAccepted(good)
	poll.True(w.t, "the API server has counted its reviews", func() bool { return w.reviews() > before }) // a moment after it answers
	if after := w.reviews(); after-before > count/10 {
		w.t.Errorf("%d reviews of %d forged tokens, want none", after-before, count)
	}
}

// reviews is how many tokens the API server says it has reviewed.
func (w *hookWorld) reviews() (all int) {
	w.t.Helper()
	c, err := rest.HTTPClientFor(w.s.Config)
	w.must(err)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.s.Config.Host+"/metrics", nil)
	w.must(err)
	resp, err := c.Do(r)
	w.must(err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "apiserver_request_total{") && strings.Contains(line, `resource="tokenreviews"`) {
			count, err := strconv.Atoi(line[strings.LastIndex(line, " ")+1:])
			w.must(err)
			all += count
		}
	}
	w.must(lines.Err())
	return all
}
