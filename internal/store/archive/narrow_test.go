package archive_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/store/inputs"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/stores"
)

// narrowKey: the rights in docs/inputs.md are enough for everything, and delete nothing but what runs left behind.
func narrowKey(t *testing.T, w world) {
	if !w.Policies {
		t.Skipf("%s has no policies", w.Name)
	}
	page, err := os.ReadFile("../../../docs/inputs.md")
	must(t, err)
	policy := regexp.MustCompile("(?s)```json\n(\\{\n +\"Version\".*?)```").FindSubmatch(page)
	if policy == nil {
		t.Fatal("docs/inputs.md has no policy")
	}
	granted := strings.NewReplacer("acme-run-inputs", w.Options().Bucket, `{"Effect"`,
		`{"Principal": {"AWS": ["arn:aws:iam:::user/`+stores.NarrowUser+`"]}, "Effect"`).
		Replace(string(policy[1]))
	to, err := w.Archive.Bucket.Sign(t.Context(), objectstore.Request{Method: http.MethodPut, Query: url.Values{"policy": {""}}})
	must(t, err)

	t.Setenv("AWS_ACCESS_KEY_ID", stores.NarrowAccessKey)
	a := &archive.Archive{Bucket: stores.Open(t, w.Options())}
	r := runAt("narrow", "run", noon)
	if err := a.SaveRecord(t.Context(), recordOf(r)); err == nil || !strings.Contains(err.Error(), "refuses") {
		t.Fatalf("without the policy: %v", err)
	}
	if resp, body := send(t, http.MethodPut, to, "", granted); resp.StatusCode >= 300 {
		t.Fatalf("the policy: %s %s\n%s", resp.Status, body, granted)
	}

	must(t, a.SaveRecord(t.Context(), recordOf(r)))
	_, err = a.SaveLog(t.Context(), r, "pod", "test", false, strings.NewReader("text"))
	must(t, err)
	if got, err := list(t.Context(), a, "narrow", nil, 10); err != nil || len(got) != 1 {
		t.Errorf("records: %v, %v", got, err)
	}
	store := &inputs.Store{Bucket: a.Bucket}
	signed, _, err := store.SignUpload(t.Context(), "narrow", "app.apk", -1)
	must(t, err)
	if resp, body := send(t, http.MethodPut, signed, octets, "x"); resp.StatusCode != http.StatusOK {
		t.Errorf("upload: %s %s", resp.Status, body)
	}
	if _, err := store.Stat(t.Context(), &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "narrow"}}, "never.apk"); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := a.Bucket.Delete(t.Context(), "narrow/app.apk"); err == nil {
		t.Error("an input file could be deleted")
	}
	if runs, err := a.Clear(t.Context(), "narrow", noon.AddDate(0, 0, 1)); err != nil || runs != 1 {
		t.Errorf("Clear: %d, %v", runs, err)
	}
	if left := w.keys(t, "narrow/"); len(left) != 1 || left[0] != "narrow/app.apk" {
		t.Errorf("%q are left", left)
	}
}
