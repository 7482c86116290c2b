package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/test/clitest"
)

func TestKeysCreate(t *testing.T) {
	c, out, log := clitest.Console()
	k := clitest.Cluster(c)
	if err := (&CreateOptions{Cluster: k, Description: "CI", Expires: time.Hour}).Run(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(out.String())
	if apikey.Namespace(key) != "acme" || strings.Contains(log.String(), key) {
		t.Errorf("standard output %q, standard error %q: want the key once", out, log)
	}
	object := &v1alpha1.APIKey{}
	if err := k.Client.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: "ci"}, object); err != nil {
		t.Fatal(err)
	}
	if object.Spec.SHA256 != apikey.Digest(key) || !object.Spec.NamesNamespace ||
		!object.Spec.ExpiresAt.Time.Equal(clitest.Noon.Add(time.Hour)) || strings.Contains(fmt.Sprint(object), key) {
		t.Errorf("%+v", object.Spec)
	}
	if !strings.Contains(log.String(), `Warning: no Team owns the namespace "acme", so the key is refused until exactly one Team owns it.`) {
		t.Errorf("no warning that the key will be refused: %s", log)
	}
	clitest.Fails(t, "a second of the name", (&CreateOptions{Cluster: k}).Run(t.Context(), "ci"), "choose another name")
}

func TestKeysCreateFromExisting(t *testing.T) {
	c, out, log := clitest.Console()
	k := clitest.Cluster(c)
	const old = "qawolf_0123456789abcdef"
	if err := (&CreateOptions{Cluster: k, Existing: old}).Run(t.Context(), "old"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fmt.Sprint(out, log), old) {
		t.Errorf("a key that its owner knows is printed: %s%s", out, log)
	}
	if err := (&CreateOptions{Cluster: k, Existing: "hunter2"}).Run(t.Context(), "short"); err == nil {
		t.Error("a key that can be guessed was taken")
	}
	clitest.Fails(t, "a key that names another namespace", (&CreateOptions{Cluster: k, Existing: apikey.New("rival")}).Run(t.Context(),
		"rival"), "the namespace rival")
	object := &v1alpha1.APIKey{}
	if err := k.Client.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: "old"}, object); err != nil || object.Spec.NamesNamespace {
		t.Errorf("an opaque key: %+v, %v", object.Spec, err)
	}
}

// TestKeysCreateForGit: the manifest has the hash of the key that the file has, and nothing else shows the key.
func TestKeysCreateForGit(t *testing.T) {
	c, out, log := clitest.Console()
	file := filepath.Join(t.TempDir(), "key")
	o := &CreateOptions{Cluster: access.Cluster{Output: cli.Output{Console: c}, Namespace: "acme",
		Clock: clocktesting.NewFakePassiveClock(clitest.Noon)}, DryRun: true, KeyFile: file}
	if err := o.Run(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	key, stored := strings.TrimSpace(string(content)), v1alpha1.APIKey{}
	if err := errors.Join(err, yaml.UnmarshalStrict(out.Bytes(), &stored)); err != nil {
		t.Fatal(err)
	}
	if apikey.Namespace(key) != "acme" || stored.Spec.SHA256 != apikey.Digest(key) || stored.Namespace != "acme" || stored.Name != "ci" ||
		!stored.Spec.NamesNamespace {
		t.Errorf("%+v of the key %s", stored, key)
	}
	if strings.Contains(out.String()+log.String(), key) {
		t.Errorf("the key is printed:\n%s%s", out, log)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := o.Run(t.Context(), "ci"); err == nil {
		t.Error("the file of another key was overwritten")
	}
}

func TestKeysCreateForATeam(t *testing.T) {
	c, _, log := clitest.Console()
	team := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}}
	err := (&CreateOptions{Cluster: clitest.Cluster(c, team)}).Run(t.Context(), "ci")
	if err != nil || strings.Contains(log.String(), "Warning") {
		t.Errorf("%v: %s", err, log)
	}
}

// TestKeysRotate: the Secret has a key that works, earlier ones end after the overlap, and the keys of others do not.
func TestKeysRotate(t *testing.T) {
	c, _, log := clitest.Console()
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: clitest.Noon.Add(d)} }
	aKey := func(name, rotation string, expires *metav1.Time) *v1alpha1.APIKey {
		return &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name,
			Labels: map[string]string{v1alpha1.LabelRotation: rotation}},
			Spec: v1alpha1.APIKeySpec{SHA256: apikey.Digest(name), ExpiresAt: expires}}
	}
	const day = 24 * time.Hour
	k := clitest.Cluster(c, aKey("ci", "", nil), aKey("ci-1", "ci", at(80*day)), aKey("ci-2", "ci", at(time.Hour)),
		aKey("ci-3", "ci", at(-time.Hour)),
		aKey("ci-4", "ci", at(-8*day)), aKey("other", "", at(80*day)), aKey("other-1", "other", at(80*day)))
	if err := (&RotateOptions{Cluster: k, Secret: "key", Expires: 90 * day, Overlap: 7 * day}).Run(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	secret, list := &corev1.Secret{}, &v1alpha1.APIKeyList{}
	if err := errors.Join(k.Client.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: "key"}, secret),
		k.Client.List(t.Context(), list)); err != nil {
		t.Fatal(err)
	}
	key, got := string(secret.Data["POSTFLIGHT_API_KEY"]), map[string]string{}
	for _, stored := range list.Items {
		got[stored.Name] = "never"
		if stored.Spec.ExpiresAt != nil {
			got[stored.Name] = stored.Spec.ExpiresAt.Sub(clitest.Noon).String()
		}
		if stored.Name == "ci-20261120-120000" && stored.Spec.SHA256 != apikey.Digest(key) {
			t.Errorf("the Secret has another key than %s", stored.Name)
		}
	}
	want := map[string]string{"ci-20261120-120000": "2160h0m0s", "ci": "168h0m0s", "ci-1": "168h0m0s", "ci-2": "1h0m0s", "ci-3": "-1h0m0s",
		"other": "1920h0m0s", "other-1": "1920h0m0s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys and when they expire: -want +got\n%s", diff)
	}
	if apikey.Namespace(key) != "acme" || strings.Contains(log.String(), key) {
		t.Errorf("key %s, log %s", key, log)
	}
	k.Clock = clocktesting.NewFakePassiveClock(clitest.Noon.Add(time.Minute))
	made := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "ci-20261120-120000"}}
	if err := k.Client.Patch(t.Context(), made, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"creationTimestamp":"2026-11-20T12:00:00Z"}}`))); err != nil {
		t.Fatal(err)
	}
	if err := (&RotateOptions{Cluster: k, Secret: "key", Expires: 90 * day, Overlap: 7 * day}).Run(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	if err := k.Client.List(t.Context(), list); err != nil || len(list.Items) != len(want) {
		t.Errorf("%d keys after a repetition: %v; want %d", len(list.Items), err, len(want))
	}
}

// TestKeysRotateWithoutASecret: a key that the Secret surely lacks is deleted, one that it may have is not, and earlier keys stay as they
// are.
func TestKeysRotateWithoutASecret(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		left int
	}{
		"refused":    {apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "key", nil), 1},
		"unanswered": {errors.New("connection reset by peer"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := clitest.Console()
			k := clitest.Cluster(c, &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "ci"}})
			k.Client = interceptor.NewClient(k.Client.(client.WithWatch), interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return tc.err
				},
			})
			if err := (&RotateOptions{Cluster: k, Secret: "key", Expires: time.Hour, Overlap: time.Minute}).Run(t.Context(), "ci"); err == nil {
				t.Error("no error")
			}
			list := &v1alpha1.APIKeyList{}
			if err := k.Client.List(t.Context(), list); err != nil || len(list.Items) != tc.left {
				t.Errorf("%d keys are left (%v), want %d", len(list.Items), err, tc.left)
			}
			for _, stored := range list.Items {
				if stored.Name == "ci" && stored.Spec.ExpiresAt != nil {
					t.Errorf("the earlier key expires at %s", stored.Spec.ExpiresAt)
				}
			}
		})
	}
}

func TestKeysListAndRevoke(t *testing.T) {
	c, out, log := clitest.Console()
	expired, suspended := metav1.NewTime(clitest.Noon.Add(-time.Hour)), &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme",
		Name: "b"}}
	k := clitest.Cluster(c, suspended,
		&v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "a"}, Spec: v1alpha1.APIKeySpec{ExpiresAt: &expired}},
		&v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "z"}})
	if err := errors.Join((&RevokeOptions{Cluster: k, Suspend: true}).Run(t.Context(), "b"),
		(&ListOptions{Cluster: k}).Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a      expired", "b      suspended"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "\nz ") {
		t.Error("another team's key is listed")
	}
	if err := (&RevokeOptions{Cluster: k, Suspend: false}).Run(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	clitest.Contains(t, "standard error", log.String(), "The key a in the namespace acme is refused from now on.")
	clitest.Fails(t, "revoked twice", (&RevokeOptions{Cluster: k, Suspend: false}).Run(t.Context(), "a"), "there is no APIKey")
}

func TestKeysListShowsRefusedKeys(t *testing.T) {
	c, out, _ := clitest.Console()
	key := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "ci"}}
	key.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "NoTeam"}}
	if err := (&ListOptions{Cluster: clitest.Cluster(c, key)}).Run(t.Context()); err != nil ||
		!strings.Contains(out.String(), "refused (NoTeam)") {
		t.Errorf("%v:\n%s", err, out)
	}
}
