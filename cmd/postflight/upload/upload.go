// Package upload has the command that uploads input files.
package upload

import (
	"cmp"
	"context"
	"crypto/md5" // what object stores check an upload by; SHA-256 is for people
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/transfer"
)

type Options struct {
	access.Server
	File     string // on this machine
	As       string // path in the store; empty: the name of the file
	Attempts int

	TeamStorage bool // any extension

	StallAfter, AnswerAfter time.Duration // set by tests
}

func New() *cobra.Command {
	o := &Options{}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:   "upload FILE",
		Short: "Upload a file that runs need: an app, an archive, data",
		Long: `Uploads a file to the team's store and prints its location, the value of a variable in a notification. The
store checks that it received what was sent. Interrupted uploads restart.

Files may end in .apk, .aab, .deb, .ipa, .zip, .csv or .pdf; with --team-storage, in anything.`,
		Example: `  # Upload the app of this commit, and test it
  LOCATION=$(postflight upload build/shop.apk --as "builds/$GITHUB_SHA/shop.apk")
  postflight notify --type mobile -v RUN_INPUT_PATH="$LOCATION" --wait

  # Replace a file that every run gets, because a Trigger names it in spec.inputs.paths
  postflight upload customers.json --team-storage --as fixtures/customers.json`,
		Args: cobra.ExactArgs(1),
		RunE: o.Command(func(ctx context.Context, args []string) error {
			o.File = args[0]
			return o.Run(ctx)
		}),
	})
	cmd.Flags().StringVar(&o.As, "as", "", "path in the store; default: the name of the file")
	cmd.Flags().BoolVar(&o.TeamStorage, "team-storage", false, "for a file that many runs of the team use: accept any extension")
	cmd.Flags().IntVar(&o.Attempts, "attempts", 5, "how often to try")
	o.AddFlags(cmd)
	return cmd
}

// uploaded is what -o json prints.
type uploaded struct {
	FileLocation           string `json:"fileLocation"`
	PlaygroundFileLocation string `json:"playgroundFileLocation"`
	Bytes                  int64  `json:"bytes"`
	SHA256                 string `json:"sha256"`
}

// checksums of a file. The store gets the MD5, and refuses a file that arrives damaged.
type checksums struct {
	md5, sha256 []byte
	size        int64
}

// Run uploads the file. A store takes a file as a whole or not at all: each attempt starts over, with a fresh
// URL, and the file that was there before stays until the last byte has arrived.
func (o *Options) Run(ctx context.Context) error {
	file, err := os.Open(o.File)
	if err != nil {
		return err
	}
	defer file.Close()
	sums, err := o.sum(ctx, file)
	if err != nil {
		return err
	}
	var signed *client.SignedURL
	attempts := 1
	err = transfer.Retry{
		Min: time.Second, Max: 15 * time.Second, Within: transfer.WhileContext, Attempts: max(o.Attempts, 1), Again: mayRetry,
		Pausing: func(err error, _ time.Duration) {
			attempts++
			o.Console.Note("The upload broke off (%v). Trying again, %d of %d.", err, attempts, o.Attempts)
		},
	}.Do(ctx, func() (err error) {
		if signed, err = o.sign(ctx, sums.size); err != nil {
			return &unsigned{err}
		}
		return o.put(ctx, file, sums, signed.SignedURL)
	})
	if err != nil {
		return err
	}
	return o.print(uploaded{signed.FileLocation, signed.PlaygroundFileLocation, sums.size, hex.EncodeToString(sums.sha256)})
}

func (o *Options) sign(ctx context.Context, size int64) (*client.SignedURL, error) {
	path := cmp.Or(o.As, filepath.Base(o.File))
	if o.TeamStorage {
		return o.Client.SignTeamStorage(ctx, path, size)
	}
	return o.Client.SignUpload(ctx, path, size)
}

// unsigned is an error of the server, which the client has retried.
type unsigned struct{ error }

func (e *unsigned) Unwrap() error { return e.error }

func mayRetry(err error) (retry bool, pause time.Duration) {
	_, failed := errors.AsType[*unsigned](err)
	refused, ok := errors.AsType[*refusal](err)
	return !failed && (!ok || !refused.final()), 0
}

func (o *Options) print(u uploaded) error {
	return o.Console.Result(u, func() error {
		o.Console.Note("Uploaded %d bytes, SHA-256 %s", u.Bytes, u.SHA256)
		fmt.Fprintln(o.Console.Out, u.FileLocation)
		return nil
	})
}

func (o *Options) sum(ctx context.Context, file *os.File) (checksums, error) {
	info, err := file.Stat()
	if err != nil {
		return checksums{}, err
	}
	if !info.Mode().IsRegular() {
		return checksums{}, fmt.Errorf("%s is not a file. To upload a folder, put it into a .zip", o.File)
	}
	m, s := md5.New(), sha256.New()
	size, err := io.Copy(io.MultiWriter(m, s), contextReader{ctx, file})
	return checksums{m.Sum(nil), s.Sum(nil), size}, err
}

// contextReader reads until the context is done.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}
