package objectstore_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/inmemory"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

// requests are all that the manager sends.
func requests(ctx context.Context, b *objectstore.Bucket) map[string]func() error {
	return map[string]func() error{
		"Stat":   func() error { _, err := b.Stat(ctx, "key"); return err },
		"Put":    func() error { return b.Put(ctx, "key", "text/plain", strings.NewReader("x"), 1) },
		"Get":    func() error { _, _, err := b.Get(ctx, "key"); return err },
		"Delete": func() error { return b.Delete(ctx, "key") },
		"List": func() (err error) {
			for _, err = range b.List(ctx, objectstore.Listing{Prefix: "k"}) {
			}
			return err
		},
	}
}

// silent runs a test by the clock of synctest, with a store in memory.
func silent(t *testing.T, answer http.HandlerFunc, test func(*testing.T, *objectstore.Bucket)) {
	t.Helper()
	stores.Credentials(t)
	synctest.Test(t, func(t *testing.T) {
		listener := inmemory.Listen("store:80")
		server := &http.Server{Handler: answer}
		go func() { _ = server.Serve(listener) }()
		defer server.Close()
		was := http.DefaultTransport // which every bucket copies
		http.DefaultTransport = &http.Transport{DialContext: listener.Dial}
		defer func() { http.DefaultTransport = was }()
		o := good()
		o.Endpoint, o.PublicEndpoint = "http://store", ""
		test(t, stores.Open(t, o))
	})
}

// TestStoreThatHangs: only one request waits for the store. The others fail at once, and signing never waits.
func TestStoreThatHangs(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	silent(t, hang, func(t *testing.T, store *objectstore.Bucket) {
		ctx := log.IntoContext(t.Context(), logr.Discard())
		go (&objectstore.Watcher{Bucket: store}).Start(ctx)
		if _, err := store.Stat(ctx, "demo/app.apk"); err == nil || !strings.Contains(err.Error(), "does not answer within 5s") {
			t.Errorf("Stat: %v", err)
		}
		began := time.Now()
		for range 100 {
			for name, request := range requests(ctx, store) {
				if err := request(); err == nil || !strings.Contains(err.Error(), "does not answer") {
					t.Errorf("%s: %v", name, err)
				}
			}
			sign(t, store, "demo/app.apk")
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("500 further requests waited for %s", took)
		}
	})
}

// halfAnAnswer is the answer of a store that then falls silent.
func halfAnAnswer(w http.ResponseWriter, r *http.Request) {
	const page = `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>` +
		`<Contents><Key>k1</Key></Contents></ListBucketResult>`
	switch {
	case r.URL.Query().Has("continuation-token"):
	case r.URL.Query().Has("list-type"):
		_, _ = io.WriteString(w, page)
		return
	default:
		w.Header().Set("Content-Length", "100")
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
	}
	<-r.Context().Done()
}

// TestStoreThatStops: a store that falls silent within an answer is noticed, too. A slow reader is no silent store.
func TestStoreThatStops(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *objectstore.Bucket) error{
		"Get": func(t *testing.T, b *objectstore.Bucket) error {
			content, size, err := b.Get(t.Context(), "key")
			must(t, err)
			defer content.Close()
			time.Sleep(time.Minute)
			got := make([]byte, 4)
			if _, err := io.ReadFull(content, got); err != nil || string(got) != "half" || size != 100 {
				t.Errorf("%q of %d, %v", got, size, err)
			}
			_, err = content.Read(got)
			return err
		},
		"List": func(t *testing.T, b *objectstore.Bucket) (err error) {
			listed := 0
			for object, problem := range b.List(t.Context(), objectstore.Listing{Prefix: "k"}) {
				if err = problem; err == nil && object.Key == "k1" {
					listed++
					time.Sleep(time.Minute)
				}
			}
			if listed != 1 {
				t.Errorf("%d objects", listed)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			silent(t, halfAnAnswer, func(t *testing.T, b *objectstore.Bucket) {
				if err := test(t, b); err == nil || !strings.Contains(err.Error(), "does not answer within 5s") {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// TestCallerGivesUp: that is an error, never the end of a list, and says nothing about the store.
func TestCallerGivesUp(t *testing.T) {
	stores.Credentials(t)
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && strings.Count(r.URL.Path, "/") == 2 && strings.HasSuffix(r.URL.Path, "/") {
			return // the watcher asks for the bucket
		}
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	o := good()
	o.Endpoint = server.URL
	store := stores.Open(t, o)
	go (&objectstore.Watcher{Bucket: store}).Start(log.IntoContext(t.Context(), logr.Discard()))
	alone, _ := http.NewRequest(http.MethodGet, "/store", nil)
	poll.True(t, "the store was asked", func() bool { return store.Ready(alone) == nil })
	for name := range requests(t.Context(), store) {
		ctx, cancel := context.WithCancel(t.Context())
		failure := make(chan error, 1)
		go func() { failure <- requests(ctx, store)[name]() }()
		select {
		case <-asked:
			cancel()
		case err := <-failure:
			t.Fatalf("%s was not sent after others gave up: %v", name, err)
		}
		if err := <-failure; !errors.Is(err, context.Canceled) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
