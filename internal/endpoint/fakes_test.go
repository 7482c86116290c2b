package endpoint

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

type matched = []*v1alpha1.Trigger

func inNowhere(t *v1alpha1.Trigger) { t.Spec.Environment = "nowhere" }

// panicOver is a create with a bug that one Trigger's Suite meets.
func panicOver(name string) func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
	return func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if o.(*v1alpha1.Suite).Spec.Trigger.Name == name {
			panic("a bug")
		}
		return c.Create(ctx, o, opts...)
	}
}

func checkLargeHeader(t *testing.T, url string) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/openapi.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Large", strings.Repeat("x", 100<<10))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d, want 431", resp.StatusCode)
	}
}

// raw sends bytes and returns all that comes back until the server closes the connection.
func raw(t *testing.T, server *httptest.Server, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}
