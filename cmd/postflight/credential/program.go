package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// programTimeout bounds a program that asks for a token. Buildkite's tries five times, with growing pauses.
const programTimeout = time.Minute

// program asks the program of a CI system, which each job has on its PATH.
func (m Machine) program(audience string) (*Credential, error) {
	var name string
	var args []string
	switch {
	case m.Getenv("BUILDKITE") == "true":
		name, args = "buildkite-agent", []string{"oidc", "request-token", "--audience", audience}
	case m.Getenv("CIRCLECI") == "true":
		// Not $CIRCLE_OIDC_TOKEN: its audience is the organization, and clouds may accept it.
		claims, err := json.Marshal(map[string]string{"aud": audience})
		if err != nil {
			return nil, err
		}
		name, args = "circleci", []string{"run", "oidc", "get", "--claims", string(claims)}
	default:
		return nil, nil
	}
	path, err := m.Program(name)
	if err != nil {
		return nil, nil // the advice says what to do
	}
	p := &program{path, name + " " + strings.Join(args[:2], " "), args}
	return m.credential(&kept{request: p.request, now: m.Now}, "a token of "+name), nil
}

type program struct {
	path, shown string
	args        []string
}

// request runs the program. What it prints is not shown, because that is a token, or may contain one.
func (p *program) request(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	run := exec.CommandContext(ctx, p.path, p.args...)
	run.WaitDelay = time.Second // a child that lives longer may hold the pipe
	out := &bounded{}
	run.Stdout = out
	if err := run.Run(); err != nil {
		return "", &issuerError{text: fmt.Sprintf("%q gives no token: %v. Run it in the job to see why; or set POSTFLIGHT_API_KEY", p.shown, err)}
	}
	token := strings.TrimSpace(out.String())
	return token, check(token, fmt.Sprintf("the output of %q", p.shown))
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, 2*maxToken-b.Len()))])
	return len(p), nil
}
