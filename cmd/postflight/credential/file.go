package credential

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// file finds the token of a ServiceAccount, which the kubelet renews, or a token that another program wrote.
func (m Machine) file(string) (*Credential, error) {
	path, named := m.Getenv("POSTFLIGHT_TOKEN_FILE"), true
	if path == "" {
		path, named = m.TokenFile, false
	}
	source := file(path)
	_, err := source.Token(context.Background(), "")
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return m.credential(source, "the token in "+path), nil
}

// file is read for each request: the kubelet replaces the token when four fifths of its time are over.
type file string

func (f file) Token(context.Context, string) (string, error) {
	content, err := readFile(string(f))
	if err != nil {
		return "", &fileError{fmt.Errorf("the token file: %w. "+
			"In a pod, mount a projected serviceAccountToken there, or set POSTFLIGHT_TOKEN_FILE", err)}
	}
	token := strings.TrimSpace(content)
	return token, check(token, string(f))
}

// fileError may be over when whatever writes the file has done so.
type fileError struct{ error }

func (e *fileError) Unwrap() error   { return e.error }
func (e *fileError) Temporary() bool { return true }

// readFile reads a file that may be a pipe, or a device without an end.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, 2*maxToken)) // enough to see that it is too long
	return string(content), err
}
