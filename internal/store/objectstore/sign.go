package objectstore

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-logr/logr"
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
	signed, _, err := b.SignUntil(ctx, r)
	return signed, err
}

// SignUntil also returns when the URL ends: before its lifetime if the store's credentials do, because the store refuses it then.
func (b *Bucket) SignUntil(ctx context.Context, r Request) (signed string, until time.Time, err error) {
	client := b.private
	if r.Public {
		client = b.public
	}
	lifetime, err := b.lifetime(ctx, min(max(cmp.Or(r.Lifetime, b.options.UploadLifetime), MinLifetime), MaxLifetime))
	if err != nil {
		return "", until, &unavailable{text: fmt.Sprintf("no URL can be signed: %s", connectionMessage(err)), cause: err}
	}
	until = b.clock.Now().Add(lifetime)
	u, err := client.PresignHeader(ctx, r.Method, b.options.Bucket, r.Key, lifetime, r.Query, r.Header)
	if err != nil {
		return "", until, &unavailable{text: fmt.Sprintf("no URL can be signed: %s", connectionMessage(err)), cause: err}
	}
	return u.String(), until, nil
}

var errExpiring = &credentialsError{text: "its credentials expire, and there are no others yet"}

// lifetime returns for how long a URL can be valid: for as long as is wanted, or until the credentials end. They are renewed first.
func (b *Bucket) lifetime(ctx context.Context, wanted time.Duration) (time.Duration, error) {
	for renewed := false; ; renewed = true {
		value, err := b.credentials.GetWithContext(b.private.CredContext())
		if err != nil || value.Expiration.IsZero() {
			return wanted, err
		}
		left := value.Expiration.Sub(b.clock.Now()).Truncate(time.Second)
		switch {
		case left >= wanted:
			return wanted, nil
		case b.cached.renewable():
			b.credentials.Expire()
			continue
		case left < MinLifetime:
			return 0, errExpiring
		}
		if renewed {
			logr.FromContextOrDiscard(ctx).Info("signed URLs end early, with the temporary credentials of the store",
				"validFor", left.String(), "wanted", wanted.String())
		}
		return left, nil
	}
}
