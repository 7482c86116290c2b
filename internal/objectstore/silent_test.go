package objectstore_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/internal/objectstore"
	"github.com/postflight-dev/postflight/test/stores"
)

// requests are all that the manager sends.
func requests(ctx context.Context, b *objectstore.Bucket) map[string]func() error {
	return map[string]func() error{
		"Stat":   func() error { _, _, err := b.Stat(ctx, "key"); return err },
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

// TestStoreThatHangs: only one request waits for the store. The others fail at once, and signing never waits.
func TestStoreThatHangs(t *testing.T) {
	stores.Credentials(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, and never answers
	must(t, err)
	defer listener.Close()
	o := good()
	o.Endpoint, o.PublicEndpoint = "http://"+listener.Addr().String(), ""
	store := stores.Open(t, o)
	ctx := log.IntoContext(t.Context(), logr.Discard())
	go (&objectstore.Watcher{Bucket: store}).Start(ctx)
	if _, _, err := store.Stat(ctx, "demo/app.apk"); err == nil || !strings.Contains(err.Error(), "does not answer within 5s") {
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
	if took := time.Since(began); took > time.Second {
		t.Errorf("500 further requests took %s", took)
	}
}

// TestStoreThatStops: a store that falls silent within an answer is noticed, too. A slow reader is no silent store.
func TestStoreThatStops(t *testing.T) {
	stores.Credentials(t)
	const page = `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken><Contents><Key>k1</Key></Contents></ListBucketResult>`
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Has("continuation-token"):
			<-stop
		case r.URL.Query().Has("list-type"):
			_, _ = io.WriteString(w, page)
		default:
			w.Header().Set("Content-Length", "100")
			w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			<-stop
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(stop) })
	o := good()
	o.Endpoint = server.URL
	for name, test := range map[string]func(*testing.T, *objectstore.Bucket) error{
		"Get": func(t *testing.T, b *objectstore.Bucket) error {
			content, size, err := b.Get(t.Context(), "key")
			must(t, err)
			defer content.Close()
			time.Sleep(6 * time.Second)
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
					time.Sleep(6 * time.Second)
				}
			}
			if listed != 1 {
				t.Errorf("%d objects", listed)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := test(t, stores.Open(t, o)); err == nil || !strings.Contains(err.Error(), "does not answer within 5s") {
				t.Errorf("%v", err)
			}
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
	store := stores.Server{Address: server.URL}.Bucket(t)
	for name := range requests(t.Context(), store) {
		ctx, cancel := context.WithCancel(t.Context())
		failure := make(chan error)
		go func() { failure <- requests(ctx, store)[name]() }()
		<-asked // also after others gave up
		cancel()
		if err := <-failure; !errors.Is(err, context.Canceled) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
