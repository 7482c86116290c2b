package files

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
)

// fileRule says which paths may be uploaded to.
type fileRule struct {
	check    func(path string) error // completes the sentence "The query parameter file ..."
	accepted string                  // a sentence that follows it; may be empty
}

// runInputs are what the contract lists; teamStorage takes every file that a run can download.
var (
	runInputs   = fileRule{inputpath.CheckUpload, " Accepted extensions: " + inputpath.Extensions() + "."}
	teamStorage = fileRule{inputpath.CheckFile, ""}
)

// SignRunInput signs the upload of a file that runs take as an input.
func (a *API) SignRunInput(w http.ResponseWriter, r *exchange.Request) error {
	return a.signUpload(w, r, runInputs)
}

// SignTeamStorage signs for the same folder of the team: all its runs can name the file, as they name an input.
func (a *API) SignTeamStorage(w http.ResponseWriter, r *exchange.Request) error {
	return a.signUpload(w, r, teamStorage)
}

func (a *API) signUpload(w http.ResponseWriter, r *exchange.Request, rule fileRule) error {
	path, bytes, err := a.fileOf(r.URL.RawQuery, rule)
	if err != nil {
		return err
	}
	if a.Uploads == nil {
		return exchange.ErrNoStore
	}
	team := r.Team()
	signed, until, err := a.Uploads.SignUpload(r.Context(), team, path, bytes)
	if err != nil {
		return &exchange.Failure{Code: "store_unavailable", Cause: err,
			Message: "No URL can be signed at the moment. Send the request again; if that fails too, give the operator the eventId."}
	}
	r.AddToAudit("file", path, "bytes", bytes)
	exchange.WriteJSON(w, http.StatusOK, httpapi.SignedURL{
		FileLocation:           team + "/" + path,
		PlaygroundFileLocation: path,
		SignedURL:              signed,
		ExpiresAt:              until.UTC().Truncate(time.Second),
	})
	return nil
}

// fileOf does not use URL.Query, which drops what it cannot decode and so would change the path.
func (a *API) fileOf(query string, rule fileRule) (path string, bytes int64, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", 0, rule.invalid("cannot be decoded; encode it like encodeURIComponent does")
	}
	switch files := values["file"]; len(files) {
	case 0:
		return "", 0, rule.invalid("is missing; it names the path to upload to, e.g. file=builds/app.apk")
	case 1:
		if err := rule.check(files[0]); err != nil {
			return "", 0, rule.invalid(err.Error())
		}
		bytes, err = a.sizeOf(values["bytes"])
		return files[0], bytes, err
	default:
		return "", 0, rule.invalid("is there more than once; ask for one URL at a time")
	}
}

// sizeOf returns a negative size if the request has none, as the clients of the contract do not send one.
func (a *API) sizeOf(values []string) (int64, error) {
	if len(values) == 0 {
		if a.Limits.InputSizeRequired {
			return 0, &exchange.Failure{Code: "invalid_file",
				Message: "The query parameter \"bytes\" is missing. This server signs the size of a file: send it, e.g. " +
					"bytes=1048576, and upload exactly as many, as the command postflight upload does."}
		}
		return -1, nil
	}
	bytes, err := strconv.ParseUint(values[0], 10, 63)
	if err != nil || len(values) > 1 {
		return 0, &exchange.Failure{Code: "invalid_file",
			Message: "The query parameter \"bytes\" is not the size of a file in bytes, e.g. bytes=1048576."}
	}
	if limit := a.Limits.InputBytes; limit > 0 && int64(bytes) > limit {
		return 0, &exchange.Failure{Code: "file_too_large", Message: fmt.Sprintf(
			"The file has %s, and at most %s are accepted. Upload a smaller one, or ask the operator of this service for a larger --max-input-size.",
			plaintext.Bytes(int64(bytes)), plaintext.Bytes(limit))}
	}
	return int64(bytes), nil
}

func (f fileRule) invalid(reason string) error {
	return &exchange.Failure{Code: "invalid_file", Message: fmt.Sprintf("The query parameter \"file\" %s.%s", reason, f.accepted)}
}
