package mask_test

import (
	"testing"

	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

func TestText(t *testing.T) {
	for name, tc := range map[string]struct{ reason, text, want string }{
		"ordinary":     {"", "GET https://a.example.com/runs?page=2 took 3s", "GET https://a.example.com/runs?page=2 took 3s"},
		"a signed URL": {"as S3 signs them", "https://s3/b/x?X-Amz-Credential=A%2Fb&X-Amz-Expires=900&X-Amz-Signature=abc!", "https://s3/b/x?X-Amz-Credential=***&X-Amz-Expires=900&X-Amz-Signature=***"},
		"a token":      {"", "see https://a/?token=s3cret&x=1 now", "see https://a/?token=***&x=1 now"},
		"a fragment":   {"OAuth returns tokens there", "https://a/#access_token=s3cret", "https://a/#access_token=***"},
		"in JSON":      {"programs in Go write & so", `{"url":"https://s3/b?a=1\u0026X-Amz-Signature=abc","n":1}`, `{"url":"https://s3/b?a=1\u0026X-Amz-Signature=***","n":1}`},
		"in a URL":     {"a redirect has it encoded", "https://a/?next=https%3A%2F%2Fs3%3FX-Amz-Signature%3Dabc%26x%3D1", "https://a/?next=https%3A%2F%2Fs3%3FX-Amz-Signature%3D***"},
		"a password":   {"", "postgres://u:hunter2@db/x", "postgres://u:***@db/x"},
		"a credential": {"", "key ghp_0123456789abcdefghij0123 leaked", "key *** leaked"},
	} {
		if got := mask.Text(tc.text); got != tc.want {
			t.Errorf("%s: %s: %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}
