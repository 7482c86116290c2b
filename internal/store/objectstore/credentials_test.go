package objectstore_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/stores"
)

// TestRotation: credentials that are replaced sign the next URLs, without a restart.
func TestRotation(t *testing.T) {
	shared := func(id string) string {
		return fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", id, stores.SecretKey)
	}
	for name, write := range map[string]func(dir, id string) string{
		"File": func(dir, id string) string {
			path := filepath.Join(dir, "credentials")
			must(t, os.WriteFile(path, []byte(shared(id)), 0o600))
			return path
		},
		// Kubernetes replaces a mounted Secret by turning a link to another folder.
		"MountedSecret": func(dir, id string) string {
			version := filepath.Join(dir, ".."+id)
			must(t, os.Mkdir(version, 0o700))
			must(t, os.WriteFile(filepath.Join(version, "AWS_ACCESS_KEY_ID"), []byte(id+"\n"), 0o600))
			must(t, os.WriteFile(filepath.Join(version, "AWS_SECRET_ACCESS_KEY"), []byte(stores.SecretKey), 0o600))
			must(t, os.Symlink(version, filepath.Join(dir, "next")))
			must(t, os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "..data")))
			for _, key := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
				_ = os.Symlink(filepath.Join("..data", key), filepath.Join(dir, key))
			}
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				o := good()
				o.CredentialsPath = write(dir, "FIRSTKEY1234")
				store := stores.Open(t, o)
				signsWith(t, store, "FIRSTKEY1234")
				write(dir, "SECONDKEY123456")
				time.Sleep(time.Second)
				signsWith(t, store, "SECONDKEY123456")
				if name == "File" { // a file that is being written, or is missing, must not end the process
					must(t, os.Remove(o.CredentialsPath))
					time.Sleep(time.Second)
					signsWith(t, store, "SECONDKEY123456")
				}
			})
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func signsWith(t *testing.T, store *objectstore.Bucket, id string) {
	t.Helper()
	if got := sign(t, store, "demo/app.apk").Query().Get("X-Amz-Credential"); !strings.HasPrefix(got, id+"/") {
		t.Fatalf("signed with %s, want %s", got, id)
	}
}

// TestCredentialsOfTheCloud: those of a container's role end, and URLs do not outlive them.
func TestCredentialsOfTheCloud(t *testing.T) {
	expires := time.Now().Add(4 * time.Minute).UTC()
	role := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"AccessKeyId":"ROLE","SecretAccessKey":"s","Token":"t","Expiration":%q}`, expires.Format(time.RFC3339))
	}))
	defer role.Close()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", role.URL)
	store := stores.Open(t, good())
	signsWith(t, store, "ROLE")
	_, until, err := store.SignUntil(t.Context(), objectstore.Request{Method: http.MethodGet, Key: "demo/app.apk"})
	if err != nil || until.After(expires) {
		t.Errorf("%v: the URL is valid until %s, and the credentials until %s", err, until, expires)
	}
}

func TestNoCredentials(t *testing.T) {
	o := good()
	o.CredentialsPath = filepath.Join(t.TempDir(), "none")
	store := stores.Open(t, o)
	_, err := store.Sign(t.Context(), objectstore.Request{Method: http.MethodGet, Key: "demo/app.apk"})
	if err == nil || !strings.Contains(err.Error(), "--store-credentials") {
		t.Errorf("%v", err)
	}
}
