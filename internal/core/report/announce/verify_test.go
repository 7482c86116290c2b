package announce_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/report/announce"
)

// receivers run the check of docs/webhooks.md in each language. The program gets the header, the body and the secret as
// arguments, and exits with 0 if the check accepts the event.
var receivers = map[string]struct {
	fence, file string
	harness     string // around the check
	command     []string
}{
	"Go": {"go", "main.go", `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

CHECK

func main() {
	h := http.Header{}
	h.Set("webhook-id", os.Args[1])
	h.Set("webhook-timestamp", os.Args[2])
	h.Set("webhook-signature", os.Args[3])
	if !verified(h, []byte(os.Args[4]), os.Args[5]) {
		os.Exit(1)
	}
}
`, []string{"go", "run"}},
	"Python": {"python", "main.py", `import sys
CHECK
headers = dict(zip(["webhook-id", "webhook-timestamp", "webhook-signature"], sys.argv[1:4]))
sys.exit(0 if verified(headers, sys.argv[4].encode(), sys.argv[5]) else 1)
`, []string{"python3"}},
	"Node": {"js", "main.mjs", `CHECK
const [id, timestamp, signature, body, secret] = process.argv.slice(2);
const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
process.exit(verified(headers, Buffer.from(body), secret) ? 0 : 1);
`, []string{"node"}},
}

// TestDocumentedChecks: the check of each language in docs/webhooks.md has ten lines, accepts what is sent, and nothing
// else.
func TestDocumentedChecks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for language, r := range receivers {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(r.command[0]); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatalf("this machine has no %s", r.command[0])
				}
				t.Skipf("this machine has no %s", r.command[0])
			}
			blocks := regexp.MustCompile("(?ms)^```"+r.fence+"\n(.*?)^```$").FindAllSubmatch(page, -1)
			if len(blocks) != 1 {
				t.Fatalf("docs/webhooks.md has %d blocks of %s", len(blocks), r.fence)
			}
			check := string(blocks[0][1])
			if lines := strings.Count(check, "\n"); lines > 11 {
				t.Errorf("the check has %d lines", lines)
			}
			try(t, compiled(t, r.file, strings.Replace(r.harness, "CHECK", check, 1), r.command))
		})
	}
}

// compiled is the command that runs a program. One in Go is compiled first.
func compiled(t *testing.T, name, text string, command []string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if command[0] != "go" {
		return append(command, file)
	}
	program := strings.TrimSuffix(file, ".go")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("the check does not compile: %v\n%s", err, out)
	}
	return []string{program}
}

func try(t *testing.T, command []string) {
	t.Helper()
	to, problem := announce.ParseSecret(announce.Receivers(aTeam(aWebhook("a")), nil)[0], map[string][]byte{"secret": []byte(aKey(32) + "\n" + aKey(24))})
	if problem != "" {
		t.Fatal(problem)
	}
	m := announce.Message{Target: to, ID: "u1-passed", At: time.Now(), Body: []byte(`{"text":"é <&> \"quoted\""}`)}
	stamp := strconv.FormatInt(m.At.Unix(), 10)
	old := m
	old.At = m.At.Add(-time.Hour)
	early := m
	early.At = m.At.Add(time.Hour)
	unsigned := m // by a key that everybody knows
	unsigned.Keys = [][]byte{{}}
	signatures := strings.Fields(m.Signature())
	for name, tc := range map[string]struct {
		id, stamp, signature, body, secret string
		want                               bool
	}{
		"both signatures, the first key": {m.ID, stamp, m.Signature(), string(m.Body), aKey(32), true},
		"both, the second key":           {m.ID, stamp, m.Signature(), string(m.Body), aKey(24), true},
		"one signature":                  {m.ID, stamp, signatures[0], string(m.Body), aKey(32), true},
		"that of another key":            {m.ID, stamp, signatures[1], string(m.Body), aKey(32), false},
		"another secret":                 {m.ID, stamp, m.Signature(), string(m.Body), aKey(40), false},
		"another body":                   {m.ID, stamp, m.Signature(), string(m.Body) + " ", aKey(32), false},
		"another id":                     {"u1-failed", stamp, m.Signature(), string(m.Body), aKey(32), false},
		"another time":                   {m.ID, strconv.FormatInt(m.At.Unix()+1, 10), m.Signature(), string(m.Body), aKey(32), false},
		"an old event, sent again":       {m.ID, strconv.FormatInt(old.At.Unix(), 10), old.Signature(), string(m.Body), aKey(32), false},
		"an event of the future":         {m.ID, strconv.FormatInt(early.At.Unix(), 10), early.Signature(), string(m.Body), aKey(32), false},
		"an empty secret":                {m.ID, stamp, unsigned.Signature(), string(m.Body), "", false},
		"a secret without a key":         {m.ID, stamp, unsigned.Signature(), string(m.Body), "whsec_", false},
		"no signature":                   {m.ID, stamp, "", string(m.Body), aKey(32), false},
		"another version":                {m.ID, stamp, strings.Replace(signatures[0], "v1,", "v2,", 1), string(m.Body), aKey(32), false},
		"no time":                        {m.ID, "", m.Signature(), string(m.Body), aKey(32), false},
	} {
		cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], tc.id, tc.stamp, tc.signature, tc.body, tc.secret)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if (err == nil) != tc.want {
			t.Errorf("%s: accepted: %t, want %t\n%s", name, err == nil, tc.want, out.String())
		}
		if strings.Contains(out.String(), "SyntaxError") {
			t.Fatalf("the check is not valid:\n%s", out.String())
		}
	}
}
