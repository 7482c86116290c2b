package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakeclient"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func key(namespace, name, secret string, change ...func(*v1alpha1.APIKey)) *v1alpha1.APIKey {
	return build.With(&v1alpha1.APIKey{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-of-a-key"},
		Spec:       v1alpha1.APIKeySpec{SHA256: apikey.Digest(secret)},
	}, change...)
}

func team(name string, change ...func(*v1alpha1.Team)) *v1alpha1.Team {
	return build.Team(name, "", change...)
}

func expires(at time.Time) func(*v1alpha1.APIKey) {
	return func(k *v1alpha1.APIKey) { k.Spec.ExpiresAt = &metav1.Time{Time: at} }
}

// named is a key of the namespace acme.
var named = apikey.New("acme")

func names(k *v1alpha1.APIKey) { k.Spec.NamesNamespace = true }

func suspendedKey(k *v1alpha1.APIKey) { k.Spec.Suspended = true }

func deletedKey(k *v1alpha1.APIKey) {
	k.Finalizers = []string{"postflight.dev/test"}
	k.DeletionTimestamp = &metav1.Time{Time: noon}
}

func suspendedTeam(t *v1alpha1.Team) { t.Spec.Suspended = true }

func in(namespace string) func(*v1alpha1.Team) {
	return func(t *v1alpha1.Team) { t.Spec.Namespace = namespace }
}

// cluster is a fake with the indexes of the manager's cache.
func cluster(t *testing.T, faults interceptor.Funcs, objects ...client.Object) client.WithWatch {
	t.Helper()
	return interceptor.NewClient(fakeclient.Builder(t).WithObjects(objects...).WithStatusSubresource(&v1alpha1.APIKey{}).Build(), faults)
}

// authenticator has a clock that shows noon, and has just reached the API server.
func authenticator(reader client.Reader) *Keys {
	return &Keys{
		Reader: reader, Staleness: func() time.Duration { return 0 }, Used: func(*v1alpha1.APIKey) {}, Clock: clocktesting.NewFakePassiveClock(
			noon),
	}
}

func request(authorization ...string) *http.Request {
	return &http.Request{Header: http.Header{"Authorization": authorization}}
}

var authenticateCases = map[string]struct {
	reason  string
	objects []client.Object
	stale   time.Duration
	token   string // "secret-of-16-chars" by default
	want    *Error
	team    string
}{
	"good key": {objects: []client.Object{team("acme"), key("acme", "ci", "secret-of-16-chars")}, team: "acme"},
	"team with another namespace": {objects: []client.Object{team("acme", in("acme-ci")), key("acme-ci", "ci", "secret-of-16-chars")},
		team: "acme"},
	"no such key": {objects: []client.Object{team("acme"), key("acme", "ci", "other")}, want: ErrUnauthenticated},
	"short key": {reason: "a short key can be guessed", token: "secret-of-15-ch",
		objects: []client.Object{team("acme"), key("acme", "ci", "secret-of-15-ch")}, want: ErrUnauthenticated},
	"suspended key": {objects: []client.Object{team("acme"), key("acme", "ci", "secret-of-16-chars", suspendedKey)},
		want: ErrUnauthenticated},
	"key that expires later": {objects: []client.Object{team("acme"),
		key("acme", "ci", "secret-of-16-chars", expires(noon.Add(time.Second)))}, team: "acme"},
	"key that expires now": {reason: "expiresAt is when it stops",
		objects: []client.Object{team("acme"), key("acme", "ci", "secret-of-16-chars", expires(noon))}, want: ErrUnauthenticated},
	"expired key": {objects: []client.Object{team("acme"),
		key("acme", "ci", "secret-of-16-chars", expires(noon.Add(-time.Hour)))}, want: ErrUnauthenticated},
	"key that is being deleted": {reason: "to delete a key is to revoke it",
		objects: []client.Object{team("acme"), key("acme", "ci", "secret-of-16-chars", deletedKey)}, want: ErrUnauthenticated},
	"suspended team": {objects: []client.Object{team("acme", suspendedTeam), key("acme", "ci", "secret-of-16-chars")},
		want: ErrTeamSuspended},
	"suspended team, suspended key": {reason: "the answer to a wrong key reveals nothing about the team",
		objects: []client.Object{team("acme", suspendedTeam), key("acme", "ci", "secret-of-16-chars", suspendedKey)}, want: ErrUnauthenticated},
	"no team": {objects: []client.Object{team("other"), key("acme", "ci", "secret-of-16-chars")},
		want: ErrUnauthenticated},
	"the team's namespace is another": {reason: "a team of the namespace's name does not own it",
		objects: []client.Object{team("acme", in("acme-ci")), key("acme", "ci", "secret-of-16-chars")},
		want:    ErrUnauthenticated},
	"two teams claim the namespace": {objects: []client.Object{team("acme"), team("rival", in("acme")),
		key("acme", "ci", "secret-of-16-chars")}, want: ErrUnauthenticated},
	"the same key in two namespaces": {objects: []client.Object{team("acme"), team("rival"), key("acme", "ci", "secret-of-16-chars"),
		key("rival", "ci", "secret-of-16-chars")}, want: ErrUnauthenticated},
	"and one of them is suspended": {reason: "it is still unclear whose it is", objects: []client.Object{team("acme"), team("rival"),
		key("acme", "ci", "secret-of-16-chars"), key("rival", "ci", "secret-of-16-chars", suspendedKey)}, want: ErrUnauthenticated},
	"and one of them has no team": {reason: "only namespaces of Teams count", objects: []client.Object{team("acme"),
		key("a", "a", "secret-of-16-chars"), key("acme", "ci", "secret-of-16-chars"), key("rival", "ci", "secret-of-16-chars")}, team: "acme"},
	"the same key twice, one team": {objects: []client.Object{team("acme"), key("acme", "a", "secret-of-16-chars"),
		key("acme", "b", "secret-of-16-chars")}, team: "acme"},
	"and one of them is suspended, 2": {reason: "revoking one revokes the key", objects: []client.Object{team("acme"),
		key("acme", "a", "secret-of-16-chars"), key("acme", "b", "secret-of-16-chars", suspendedKey)}, want: ErrUnauthenticated},
	"named key": {token: named, objects: []client.Object{team("acme"), key("acme", "ci", named, names)},
		team: "acme"},
	"named key, by hand": {reason: "the key itself says so", token: named,
		objects: []client.Object{team("acme"), key("acme", "ci", named)}, team: "acme"},
	"copies of a named key elsewhere": {reason: "it is looked up at home", token: named, objects: []client.Object{team("acme"),
		team("a"), key("a", "ci", named, names), key("b", "ci", named), key("acme", "ci", named, names)}, team: "acme"},
	"named key, suspended copy of the team": {reason: "revoking one revokes the key", token: named, objects: []client.Object{team("acme"),
		key("acme", "ci", named, names), key("acme", "old", named, suspendedKey)}, want: ErrUnauthenticated},
	"named key elsewhere": {reason: "an earlier one must not get its notifications", token: named,
		objects: []client.Object{team("acme"), team("rival"), key("rival", "ci", named)}, want: ErrUnauthenticated},
	"named key, no team": {token: named, objects: []client.Object{team("rival"), key("acme", "ci", named, names),
		key("rival", "ci", named)}, want: ErrUnauthenticated},
	"named key, expired": {token: named, objects: []client.Object{team("acme"), key("acme", "ci", named, expires(noon))},
		want: ErrUnauthenticated},
	"opaque key said to be named": {reason: "it names nothing",
		objects: []client.Object{team("acme"), key("acme", "ci", "secret-of-16-chars", names)}, want: ErrUnauthenticated},
	"copy said to be named": {reason: "it has no effect on an opaque key", objects: []client.Object{team("acme"), team("a"),
		key("a", "ci", "secret-of-16-chars", names), key("acme", "ci", "secret-of-16-chars")}, team: "acme"},
	"copy in a namespace of two Teams": {reason: "a Team owns the other namespace", objects: []client.Object{team("acme"), team("a"),
		team("b", in("a")), key("a", "ci", "secret-of-16-chars"), key("acme", "ci", "secret-of-16-chars")}, want: ErrUnauthenticated},
	"a wrong checksum": {reason: "that is an opaque key", token: named + "0",
		objects: []client.Object{team("rival"), key("rival", "ci", named+"0")}, team: "rival"},
	"API server away for 10 minutes": {objects: []client.Object{team("acme"), key("acme", "ci", "secret-of-16-chars")},
		stale: 10 * time.Minute, team: "acme"},
	"API server away for longer": {objects: []client.Object{team("acme"), key("acme", "ci", "secret-of-16-chars")},
		stale: 10*time.Minute + 1, want: Unavailable(nil)},
}

func TestAuthenticate(t *testing.T) {
	for name, tc := range authenticateCases {
		t.Run(name, func(t *testing.T) {
			used := 0
			a := authenticator(cluster(t, interceptor.Funcs{}, tc.objects...))
			a.Staleness = func() time.Duration { return tc.stale }
			a.Used = func(*v1alpha1.APIKey) { used++ }
			got, err := (&Authenticator{Keys: a}).Authenticate(request("Bearer " + cmp.Or(tc.token, "secret-of-16-chars")))
			if tc.want == nil {
				if err != nil || got.Team.Name != tc.team || got.Sender.Kind != KindKey || !got.Grant.Allows(grant.Act) || used != 1 {
					t.Errorf("%s: %+v, %v, used %d times; want the team %s", tc.reason, got, err, used, tc.team)
				}
				return
			}
			var refusal *Error
			if !errors.As(err, &refusal) || refusal.HTTPStatus() != tc.want.HTTPStatus() || got.Team != nil || used != 0 {
				t.Errorf("%s: %+v, %v, used %d times; want %v", tc.reason, got, err, used, tc.want)
			}
		})
	}
}

// TestAdvice: a key that its owner can replace or an operator can repair is refused with what to do, and others without a hint.
func TestAdvice(t *testing.T) {
	for name, tc := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"unknown":       {[]client.Object{team("acme")}, ""},
		"suspended":     {[]client.Object{team("acme"), key("acme", "ci", named, names, suspendedKey)}, "The API key is suspended."},
		"being deleted": {[]client.Object{team("acme"), key("acme", "ci", named, names, deletedKey)}, ""},
		"revoked": {[]client.Object{team("acme"), key("acme", "ci", named, names), key("acme", "old", named, suspendedKey)},
			"The API key is suspended."},
		"of another team": {[]client.Object{team("acme"), team("rival"), key("rival", "ci", named, expires(noon))}, ""},
		"expired": {[]client.Object{team("acme"), key("acme", "ci", named, names, expires(noon.Add(-3*time.Minute)))},
			"The API key expired 3 minutes ago."},
		"of two Teams": {[]client.Object{team("acme"), team("b", in("acme")), key("acme", "ci", named, names)},
			"Two Teams claim the namespace acme, so its API keys are refused. Ask your operator:"},
		"without a Team":   {[]client.Object{key("acme", "ci", named, names)}, "No Team owns the namespace acme,"},
		"one of two works": {[]client.Object{team("acme"), key("acme", "ci", named, names), key("acme", "z", named, names)}, "accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := authenticator(cluster(t, interceptor.Funcs{}, tc.objects...)).Check(t.Context(), named)
			got := "accepted"
			if refusal, ok := errors.AsType[*Error](err); ok {
				got = refusal.Advice()
			}
			if got != tc.want && (tc.want == "" || !strings.HasPrefix(got, tc.want)) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	for _, first := range []string{"a", "z"} { // whatever the order in which they are found
		both := cluster(t, interceptor.Funcs{}, team("acme"), key("acme", "ci", "secret-of-16-chars", expires(noon.Add(-time.Hour))),
			key(first, "copy", "secret-of-16-chars"))
		_, err := authenticator(both).Check(t.Context(), "secret-of-16-chars")
		if refusal, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(refusal.Advice(), "The API key expired 1 hour ago.") {
			t.Errorf("an expired key with a copy in the namespace %s: %v", first, err)
		}
	}
	rival := cluster(t, interceptor.Funcs{}, team("acme"), team("rival"), key("acme", "ci", "secret-of-16-chars"),
		key("rival", "ci", "secret-of-16-chars"))
	_, err := authenticator(rival).Check(t.Context(), "secret-of-16-chars")
	if refusal, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(refusal.Advice(), "Another Team has the same API key") ||
		strings.Contains(refusal.Advice(), "rival") {
		t.Errorf("the same key of two teams: %v", err)
	}
}

// TestKeyOfAnotherTeam: the holder of a key learns that its Team is not the named one, and nothing of the named one. Without a good key,
// the answer is that to every unknown key.
func TestKeyOfAnotherTeam(t *testing.T) {
	objects := []client.Object{team("acme"), team("rival"), key("acme", "ci", "secret-of-16-chars"),
		key("rival", "ci", "suspended-16-chars", suspendedKey)}
	a := &Authenticator{Keys: authenticator(cluster(t, interceptor.Funcs{}, objects...))}
	answer := func(token, named string) *Error {
		r := request("Bearer " + token)
		r.Header.Set(teamHeader, named)
		_, err := a.Authenticate(r)
		refusal, _ := errors.AsType[*Error](err)
		return refusal
	}
	for _, named := range []string{"acme", "acme/policy", ""} {
		if got := answer("secret-of-16-chars", named); got != nil {
			t.Errorf("%q is refused: %v", named, got)
		}
	}
	texts := map[string]bool{}
	for _, named := range []string{"rival", "rival/ci", "nobody", "Acme", strings.Repeat("x", 9<<10)} {
		got := answer("secret-of-16-chars", named)
		if got == nil || got.HTTPStatus() != http.StatusForbidden || !strings.HasPrefix(got.Advice(), "The key acme/ci is of the Team acme, but the request names ") ||
			!strings.Contains(got.Advice(), "(header Postflight-Team, $POSTFLIGHT_TEAM). Unset that") || len(got.Advice()) > 500 {
			t.Fatalf("%.20q: %v", named, got)
		}
		texts[regexp.MustCompile(`"[^"]*"`).ReplaceAllString(got.Advice(), "")] = true
		if unknown := answer("unknown-of-16-chars", named); unknown != ErrUnauthenticated {
			t.Errorf("%.20q with an unknown key: %v", named, unknown)
		}
	}
	if len(texts) != 1 {
		t.Errorf("the answers differ by the name of the Team: %v", texts)
	}
	for _, named := range []string{"rival", "acme", "nobody"} {
		if got := answer("suspended-16-chars", named); got == nil || got.HTTPStatus() != http.StatusUnauthorized ||
			got.Advice() != answer("suspended-16-chars", "").Advice() {
			t.Errorf("a suspended key that names %s: %v", named, got)
		}
	}
}

// TestEveryKeyCostsTheSame: every wrong key causes the same look-ups.
func TestEveryKeyCostsTheSame(t *testing.T) {
	for _, authorization := range [][]string{nil, {"Bearer"}, {"Bearer no"}, {"Bearer expired"}, {"Bearer secret-of-16-chars"}, {"Bearer a b"},
		{"Bearer " + named}, {"Bearer " + apikey.New("nowhere")}, {"Bearer orphan"}} {
		lists := 0
		counting := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
			opts ...client.ListOption) error {
			lists++
			return c.List(ctx, list, opts...)
		}}
		c := cluster(t, counting, team("acme"), key("acme", "ci", "secret-of-16-chars"), key("acme", "old", "expired", expires(noon)),
			key("nowhere", "a", "orphan"))
		a := authenticator(c)
		_, _ = (&Authenticator{Keys: a}).Authenticate(request(authorization...))
		if lists != 2 {
			t.Errorf("%q: %d look-ups, want 2", authorization, lists)
		}
	}
}

func TestCacheThatFails(t *testing.T) {
	broken := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("the cache is not started")
	}}
	_, err := (&Authenticator{Keys: authenticator(cluster(t, broken))}).Authenticate(request("Bearer secret-of-16-chars"))
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.HTTPStatus() != http.StatusServiceUnavailable {
		t.Errorf("got %v, want 503", err)
	}
}
