package replicas

import (
	"os"
	"testing"

	"github.com/postflight-dev/postflight/test/apiserver"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }
