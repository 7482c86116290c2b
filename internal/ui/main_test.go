package ui_test

import (
	"os"
	"testing"

	"github.com/postflight-dev/postflight/test/apiserver"
)

func TestMain(m *testing.M) {
	code := apiserver.Run(m)
	stopChromium()
	os.Exit(code)
}
