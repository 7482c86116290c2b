package replicas

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	if floor := os.Getenv(floorVariable); floor != "" {
		fmt.Fprintln(os.Stderr, runFloor(floor))
		os.Exit(1)
	}
	os.Exit(apiserver.Run(m))
}
