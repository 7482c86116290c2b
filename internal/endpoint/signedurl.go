package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/inputpath"
)

// Uploads signs the URLs by which CI uploads files.
type Uploads interface {
	SignUpload(ctx context.Context, team, path string) (string, error)
}

// storeRetryAfter is long because the configuration has to change.
const storeRetryAfter = 5 * time.Minute

// signUpload sends no request to the store, so it also answers while the store is away.
func (a *API) signUpload(w http.ResponseWriter, r *Request) error {
	path, err := fileOf(r.URL.RawQuery)
	if err != nil {
		return err
	}
	if a.Uploads == nil {
		return &failure{code: "store_not_configured", retryAfter: storeRetryAfter,
			message: "No store for files is configured, so nothing can be uploaded. " +
				"Ask the operator of this service to set --store-bucket and --store-endpoint."}
	}
	team := r.Principal.Team.Name
	signed, err := a.Uploads.SignUpload(r.Context(), team, path)
	if err != nil {
		return &failure{code: "store_unavailable", cause: err,
			message: "No URL can be signed at the moment. Send the request again; if that fails too, give the operator the eventId."}
	}
	r.audit = append(r.audit, "file", path)
	writeJSON(w, "application/json", http.StatusOK, httpapi.SignedURL{
		FileLocation:           team + "/" + path,
		PlaygroundFileLocation: path,
		SignedURL:              signed,
	})
	return nil
}

// fileOf is the one required parameter. URL.Query would drop what it cannot decode, and a path without a part
// is another path.
func fileOf(query string) (string, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", invalidFile("cannot be decoded; encode it like encodeURIComponent does")
	}
	switch files := values["file"]; len(files) {
	case 0:
		return "", invalidFile("is missing; it names the path to upload to, e.g. file=builds/app.apk")
	case 1:
		if err := inputpath.CheckUpload(files[0]); err != nil {
			return "", invalidFile(err.Error())
		}
		return files[0], nil
	default:
		return "", invalidFile("is there more than once; ask for one URL at a time")
	}
}

func invalidFile(reason string) error {
	return &failure{code: "invalid_file", message: fmt.Sprintf(
		"The query parameter \"file\" %s. Accepted extensions: %s.", reason, inputpath.Extensions())}
}
