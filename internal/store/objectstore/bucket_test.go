package objectstore_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

func good() objectstore.Options {
	return objectstore.Options{
		Endpoint: "http://store.internal:9000", PublicEndpoint: "https://files.example.com", Region: "eu-central-1",
		Bucket: "postflight", PathStyle: true, UploadLifetime: 15 * time.Minute,
	}
}

func sign(t *testing.T, store *objectstore.Bucket, key string) *url.URL {
	t.Helper()
	signed, err := store.Sign(t.Context(), objectstore.Request{
		Method: http.MethodPut, Key: key, Public: true, Header: http.Header{"Content-Type": {"application/octet-stream"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(signed)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestSignedURLs(t *testing.T) {
	stores.Credentials(t)
	for name, tc := range map[string]struct {
		reason     string
		change     func(*objectstore.Options)
		host, path string
	}{
		"PathStyle": {"The bucket is in the path.", func(*objectstore.Options) {}, "files.example.com", "/postflight/demo/a+b.apk"},
		"HostStyle": {"The bucket is in the host.", func(o *objectstore.Options) { o.PathStyle = false }, "postflight.files.example.com",
			"/demo/a+b.apk"},
		"OneEndpoint": {"Without a public one, the other.", func(o *objectstore.Options) { o.PublicEndpoint = "" }, "store.internal:9000",
			"/postflight/demo/a+b.apk"},
		"TrailingRoot": {"A slash at the end is no path.", func(o *objectstore.Options) { o.PublicEndpoint += "/" }, "files.example.com",
			"/postflight/demo/a+b.apk"},
	} {
		t.Run(name, func(t *testing.T) {
			o := good()
			tc.change(&o)
			u := sign(t, stores.Open(t, o), "demo/a+b.apk")
			if u.Host != tc.host || u.Path != tc.path {
				t.Errorf("%s\n%s%s, want %s%s", tc.reason, u.Host, u.Path, tc.host, tc.path)
			}
			if q := u.Query(); q.Get("X-Amz-SignedHeaders") != "content-type;host" || q.Get("X-Amz-Expires") != "900" ||
				!strings.Contains(q.Get("X-Amz-Credential"), "/eu-central-1/s3/") {
				t.Errorf("%v", q)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*objectstore.Options)
		want   string
	}{
		"NoBucket":      {func(o *objectstore.Options) { o.Bucket = "" }, "--store-bucket"},
		"NoRegion":      {func(o *objectstore.Options) { o.Region = "" }, "--store-region"},
		"NoEndpoint":    {func(o *objectstore.Options) { o.Endpoint = "" }, "--store-endpoint"},
		"NoScheme":      {func(o *objectstore.Options) { o.Endpoint = "store:9000" }, "--store-endpoint"},
		"OtherScheme":   {func(o *objectstore.Options) { o.PublicEndpoint = "s3://store" }, "--store-public-endpoint"},
		"WithPath":      {func(o *objectstore.Options) { o.PublicEndpoint += "/bucket" }, "--store-public-endpoint"},
		"WithPassword":  {func(o *objectstore.Options) { o.Endpoint = "http://user:hunter2@store" }, "--store-endpoint"},
		"TooShort":      {func(o *objectstore.Options) { o.UploadLifetime = time.Millisecond }, "--signed-url-lifetime"},
		"TooLong":       {func(o *objectstore.Options) { o.UploadLifetime = 8 * 24 * time.Hour }, "--signed-url-lifetime"},
		"NoCertificate": {func(o *objectstore.Options) { o.CA = []byte("x") }, "--store-ca-file"},
	} {
		t.Run(name, func(t *testing.T) {
			o := good()
			tc.change(&o)
			_, err := objectstore.New(o)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v, want one about %s", err, tc.want)
			}
		})
	}
}

// TestHealth: the single check fails if the store is down, but the sum of all checks never does.
func TestHealth(t *testing.T) {
	stores.Credentials(t)
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	o := good()
	o.Endpoint = server.URL
	for code, want := range map[int]struct {
		up     float64
		detail string
	}{
		http.StatusOK:                  {1, ""},
		http.StatusForbidden:           {0, "403"},
		http.StatusNotFound:            {0, "no such bucket"},
		http.StatusInternalServerError: {0, "500"},
	} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			status = code
			store := stores.Open(t, o)
			registry := prometheus.NewRegistry()
			must(t, store.Register(registry))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go (&objectstore.Watcher{Bucket: store}).Start(ctx)
			all, _ := http.NewRequest(http.MethodGet, "/", nil)
			alone, _ := http.NewRequest(http.MethodGet, "/store", nil)
			var detail error
			poll.True(t, "the store was asked", func() bool {
				detail = store.Ready(alone)
				return detail == nil || !strings.Contains(detail.Error(), "not been asked")
			})
			if (detail == nil) != (want.detail == "") || detail != nil && !strings.Contains(detail.Error(), want.detail) {
				t.Errorf("detail %v, want %q", detail, want.detail)
			}
			if err := store.Ready(all); err != nil {
				t.Errorf("the store makes the manager not ready: %v", err)
			}
			expected := fmt.Sprintf(
				"# HELP postflight_store_up 1 if the object store answers and accepts the manager's credentials, else 0.\n"+
					"# TYPE postflight_store_up gauge\npostflight_store_up %g\n", want.up)
			if err := testutil.GatherAndCompare(registry, strings.NewReader(expected)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestErrorsHoldNoSecrets: neither an address nor a signature nor a key.
func TestErrorsHoldNoSecrets(t *testing.T) {
	stores.Credentials(t)
	for name, endpoint := range map[string]string{"Refused": "http://127.0.0.1:1", "NoName": "http://no-such-host.invalid:9000"} {
		o := good()
		o.Endpoint = endpoint
		_, err := stores.Open(t, o).Stat(t.Context(), "demo/app.apk")
		if err == nil {
			t.Fatalf("%s: Stat found a file", name)
		}
		for _, secret := range []string{"127.0.0.1", "invalid", "X-Amz", stores.AccessKey, stores.SecretKey} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q holds %q", name, err, secret)
			}
		}
	}
}
