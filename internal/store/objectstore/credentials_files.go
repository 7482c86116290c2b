package objectstore

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"k8s.io/utils/clock"
)

// The files of a folder with credentials are named like the variables, as in a mounted Secret.
const (
	fileAccessKey = "AWS_ACCESS_KEY_ID"
	fileSecretKey = "AWS_SECRET_ACCESS_KEY"
	fileToken     = "AWS_SESSION_TOKEN"
)

// fileProvider reads credentials, again when they change, from a folder, or from a file like ~/.aws/credentials (profile $AWS_PROFILE).
type fileProvider struct {
	path  string
	clock clock.PassiveClock

	seen  string    // the state that was read
	next  time.Time // when to compare it again
	stale bool      // whether it had changed at the last comparison
}

func (f *fileProvider) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	seen := f.state() // before reading, so that a change in between is noticed
	value, err := f.read(cc)
	if err == nil && (value.AccessKeyID == "" || value.SecretAccessKey == "") {
		err = fmt.Errorf("no access key or no secret key in %s", f.path)
	}
	if err != nil {
		return credentials.Value{}, &credentialsError{text: "the credentials of --store-credentials cannot be read", cause: err}
	}
	f.seen, f.stale, f.next = seen, false, f.clock.Now().Add(credentialsEvery)
	return value, nil
}

func (f *fileProvider) Retrieve() (credentials.Value, error) { return f.RetrieveWithCredContext(nil) }

func (f *fileProvider) IsExpired() bool {
	if now := f.clock.Now(); !now.Before(f.next) {
		f.stale, f.next = f.state() != f.seen, now.Add(credentialsEvery)
	}
	return f.stale
}

// state changes with the files. Stat follows the link by which a mounted Secret is replaced.
func (f *fileProvider) state() string {
	var state strings.Builder
	paths := []string{f.path}
	for _, file := range []string{fileAccessKey, fileSecretKey, fileToken} {
		paths = append(paths, filepath.Join(f.path, file))
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&state, "%d,%d;", info.ModTime().UnixNano(), info.Size())
		}
	}
	return state.String()
}

func (f *fileProvider) read(cc *credentials.CredContext) (credentials.Value, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return credentials.Value{}, err
	}
	if !info.IsDir() {
		return (&credentials.FileAWSCredentials{Filename: f.path}).RetrieveWithCredContext(cc)
	}
	value := credentials.Value{SignerType: credentials.SignatureV4}
	if value.AccessKeyID, err = line(filepath.Join(f.path, fileAccessKey)); err != nil {
		return credentials.Value{}, err
	}
	if value.SecretAccessKey, err = line(filepath.Join(f.path, fileSecretKey)); err != nil {
		return credentials.Value{}, err
	}
	if value.SessionToken, err = line(filepath.Join(f.path, fileToken)); err != nil && !os.IsNotExist(err) {
		return credentials.Value{}, err
	}
	return value, nil
}

// line is the content of a file without the white space that editors leave around it.
func line(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxCredentialsFile))
	return strings.TrimSpace(string(content)), err
}
