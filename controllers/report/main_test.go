package report_test

import (
	"testing"

	"github.com/postflight-dev/postflight/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }
