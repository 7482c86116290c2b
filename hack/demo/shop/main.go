// Command shop is the deployment that the demo tests: a web shop of one page.
package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"html/template"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

//go:embed index.html
var page string

type product struct {
	Name, Blurb, Emoji, Price string
}

var catalogue = []product{
	{"Orbit mug", "Keeps its temperature for one full build.", "☕", "14.00"},
	{"Green light", "Desk lamp. Turns on when all checks pass.", "💡", "39.00"},
	{"Rubber duck", "Listens. Has seen worse.", "🦆", "6.50"},
	{"Flight jacket", "For those who deploy on Fridays.", "🧥", "120.00"},
	{"Red thread", "Leads from the alert to the commit.", "🧵", "3.20"},
	{"Checklist pad", "Fifty sheets, each with one box.", "📋", "8.00"},
}

// release is what the shop says that it is.
type release struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
}

// releases returns the release of the environment, and the release before it: with OLD_FOR, such as 10s, the shop serves the old one for so
// long after it has started, as behind a cache or a load balancer that is late.
func releases() (before, current release, oldFor time.Duration) {
	current = release{cmp.Or(os.Getenv("VERSION"), "dev"), os.Getenv("COMMIT")}
	before = release{"old", cmp.Or(os.Getenv("OLD_COMMIT"), "b776998a5f3c4d2e1b0a9c8d7e6f5a4b3c2d1e0f")}
	oldFor, err := time.ParseDuration(cmp.Or(os.Getenv("OLD_FOR"), "0s"))
	if err != nil {
		log.Fatalf("OLD_FOR: %v", err)
	}
	return before, current, oldFor
}

func main() {
	address := cmp.Or(os.Getenv("ADDRESS"), "127.0.0.1:8080")
	before, current, oldFor := releases()
	began := time.Now()
	server := &http.Server{
		Addr: address,
		Handler: handler(func() release {
			if time.Since(began) < oldFor {
				return before
			}
			return current
		}),
		ReadHeaderTimeout: 5 * time.Second,
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-stop
		_ = server.Close()
	}()
	log.Printf("the shop is open at http://%s", address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

func handler(serves func() release) http.Handler {
	index := template.Must(template.New("index").Parse(page))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = index.Execute(w, map[string]any{"Products": catalogue, "Version": serves().Version})
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(serves())
	})
	return mux
}
