package pages_test

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/test/apiserver"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	code := apiserver.Run(m)
	stopChromium()
	os.Exit(code)
}
