// Command release builds and pushes releases of Postflight. It signs nothing: the workflow that publishes does.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := &cobra.Command{Use: "release", Short: "Build and publish releases of Postflight", SilenceUsage: true}
	root.AddCommand(newBuild(), newPush())
	if err := root.ExecuteContext(ctx); err != nil {
		os.Exit(1) //nolint:gocritic // an interrupted command has nothing left to stop
	}
}

func newBuild() *cobra.Command {
	r := release{Architectures: imageArchitectures, Platforms: cliPlatforms}
	allowDirty := false
	cmd := &cobra.Command{
		Use:   "build VERSION",
		Short: "Build a release from the commit that is checked out",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			r.Version = args[0]
			if r.Root, err = filepath.Abs(r.Root); err != nil {
				return err
			}
			if r.Output, err = filepath.Abs(r.Output); err != nil {
				return err
			}
			if r.Source, err = readSource(cmd.Context(), r.Root, allowDirty); err != nil {
				return err
			}
			return buildAndPrint(cmd.Context(), r)
		},
	}
	cmd.Flags().StringVar(&r.Root, "root", ".", "checkout of the repository")
	cmd.Flags().StringVar(&r.Output, "output", filepath.Join("dist", "release"), "folder to write; a release that is there is deleted")
	cmd.Flags().StringVar(&r.Image, "image", defaultImage, "repository that the image will be pushed to")
	cmd.Flags().StringVar(&r.FIPS140, "fips140", "off",
		"build with this version of Go's FIPS 140-3 module, such as v1.0.0, and start in FIPS mode (GOFIPS140)")
	cmd.Flags().BoolVar(&allowDirty, "allow-dirty", false, "build even if files differ from the commit")
	return cmd
}

func buildAndPrint(ctx context.Context, r release) error {
	began := time.Now()
	built, err := r.build(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s@%s\n", r.Image, built.Image)
	fmt.Printf("RELEASE seconds=%.0f image_mib=%.1f unpacked_mib=%.1f sha256=%s\n",
		time.Since(began).Seconds(), mib(built.Compressed), mib(built.Unpacked), built.Checksum)
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func newPush() *cobra.Command {
	return &cobra.Command{
		Use:     "push DIST IMAGE:TAG",
		Short:   "Push the image, its SBOMs and its provenance, with the credentials of docker login",
		Example: "  release push dist/release ghcr.io/postflight-dev/postflight:v0.1.0",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			digest, err := push(args[0], args[1], remote.WithContext(cmd.Context()), remote.WithAuthFromKeychain(authn.DefaultKeychain))
			if err != nil {
				return err
			}
			fmt.Println(digest)
			return nil
		},
	}
}
