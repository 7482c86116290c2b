// Command store is the S3-compatible object store of the development cluster and of the tests:
// rclone's "serve s3" over a folder, with everything else of rclone left out.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/serve"
	_ "github.com/rclone/rclone/cmd/serve/s3"
)

func main() { cmd.Main() }
