package objectstore

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Request is what a signed URL allows: nothing else is accepted with it.
type Request struct {
	Method   string
	Key      string
	Lifetime time.Duration // of the URL, from its signing until the request begins; 0: as for uploads
	Public   bool          // for CI and people; otherwise the URL is for pods
	Header   http.Header   // must be sent unchanged
	Query    url.Values    // changes what the store answers
}

// Upload is the request that stores a file of exactly so many bytes; negative: of any number.
func Upload(key string, bytes int64) Request {
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	if bytes >= 0 {
		header.Set("Content-Length", strconv.FormatInt(bytes, 10))
	}
	return Request{Method: http.MethodPut, Key: key, Header: header}
}

// Sign returns a URL for the request.
func (b *Bucket) Sign(ctx context.Context, r Request) (string, error) {
	client := b.private
	if r.Public {
		client = b.public
	}
	lifetime := min(max(cmp.Or(r.Lifetime, b.options.UploadLifetime), MinLifetime), MaxLifetime)
	u, err := client.PresignHeader(ctx, r.Method, b.options.Bucket, r.Key, lifetime, r.Query, r.Header)
	if err != nil {
		return "", &unavailable{text: fmt.Sprintf("no URL can be signed: %s", connectionMessage(err)), cause: err}
	}
	return u.String(), nil
}
