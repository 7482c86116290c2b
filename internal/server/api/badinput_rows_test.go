package api_test

import (
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/test/apitest"
)

// badRequests are rejected before their body is read.
func badRequests() []bad {
	json := "application/json"
	return []bad{
		unauthenticated("no Authorization header"),
		unauthenticated("an empty one", ""),
		unauthenticated("a scheme alone", "Bearer"),
		unauthenticated("a scheme and white space", "Bearer  "),
		unauthenticated("a key without a scheme", apitest.GoodKey),
		unauthenticated("another scheme", "Basic "+apitest.GoodKey),
		unauthenticated("a scheme that only starts well", "Bearers "+apitest.GoodKey),
		unauthenticated("no space after the scheme", "Bearer"+apitest.GoodKey),
		unauthenticated("a colon after the scheme", "Bearer: "+apitest.GoodKey),
		unauthenticated("two keys in one header", "Bearer "+apitest.GoodKey+", Bearer "+apitest.GoodKey),
		unauthenticated("two words", "Bearer "+apitest.GoodKey+" "+apitest.GoodKey),
		unauthenticated("two headers, both right", "Bearer "+apitest.GoodKey, "Bearer "+apitest.GoodKey),
		unauthenticated("an unknown key", "Bearer pf_unknown"),
		unauthenticated("the digest in place of the key", "Bearer "+apikey.Digest(apitest.GoodKey)),
		unauthenticated("another case", "Bearer "+strings.ToUpper(apitest.GoodKey)),
		unauthenticated("a key in quotes", `Bearer "`+apitest.GoodKey+`"`),
		unauthenticated("a key of 100 KB", "Bearer "+strings.Repeat("k", 100<<10)),
		unauthenticated("bytes that are not ASCII", "Bearer "+apitest.GoodKey+"\xc3\xa9"),
		unauthenticated("a no-break space around the key", "Bearer \u00a0"+apitest.GoodKey),
		unauthenticated("an expired key", "Bearer pf_expired_and_long"),
		unauthenticated("a suspended key", "Bearer pf_suspended_and_long"),
		unauthenticated("a key of a namespace without a team", "Bearer pf_orphan_and_long"),
		{reason: "a key in the query",
			request: apitest.Both(apitest.Header("Authorization"), apitest.Query("access_token="+apitest.GoodKey+"&api_key="+apitest.GoodKey)),
			status:  401, code: "unauthenticated"},
		{reason: "a wrong key and a bad body", request: apitest.Header("Authorization", "Bearer no"), body: `{`, status: 401,
			code: "unauthenticated"},
		{reason: "a suspended team", request: apitest.Header("Authorization", "Bearer pf_elsewhere_and_long"), status: 403,
			code: "team_suspended"},

		{reason: "GET", request: apitest.Method("GET"), status: 405, code: "method_not_allowed"},
		{reason: "HEAD", request: apitest.Method("HEAD"), status: 405},
		{reason: "OPTIONS", request: apitest.Method("OPTIONS"), status: 405, code: "method_not_allowed"},
		{reason: "PUT", request: apitest.Method("PUT"), status: 405, code: "method_not_allowed"},
		{reason: "DELETE", request: apitest.Method("DELETE"), status: 405, code: "method_not_allowed"},
		{reason: "PATCH", request: apitest.Method("PATCH"), status: 405, code: "method_not_allowed"},
		{reason: "a method in lower case", request: apitest.Method("post"), status: 405, code: "method_not_allowed"},
		{reason: "a wrong method and a wrong key", request: apitest.Both(apitest.Method("GET"), apitest.Header("Authorization")), status: 405,
			code: "method_not_allowed"},

		{reason: "the root", request: apitest.Path("/"), status: 404, code: "not_found"},
		{reason: "an unknown path", request: apitest.Path("/api/webhooks/deploy_failure"), status: 404, code: "not_found"},
		{reason: "a path in another case", request: apitest.Path("/API/webhooks/deploy_success"), status: 404, code: "not_found"},
		{reason: "a longer path", request: apitest.Path(apitest.DeploySuccessPath + "/more"), status: 404, code: "not_found"},
		{reason: "a shorter path", request: apitest.Path("/api/webhooks"), status: 404, code: "not_found"},
		{reason: "dot segments", request: apitest.Path("/api/x/../webhooks/deploy_success"), status: 404, code: "not_found"},

		{reason: "no Content-Type", request: apitest.Header("Content-Type"), status: 415, code: "unsupported_media_type"},
		{reason: "an empty Content-Type", request: apitest.Header("Content-Type", ""), status: 415, code: "unsupported_media_type"},
		{reason: "text", request: apitest.Header("Content-Type", "text/plain"), status: 415, code: "unsupported_media_type"},
		{reason: "a form", request: apitest.Header("Content-Type", "application/x-www-form-urlencoded"), status: 415,
			code: "unsupported_media_type"},
		{reason: "text/json", request: apitest.Header("Content-Type", "text/json"), status: 415, code: "unsupported_media_type"},
		{reason: "another kind of JSON", request: apitest.Header("Content-Type", "application/cloudevents+json"), status: 415,
			code: "unsupported_media_type"},
		{reason: "a broken Content-Type", request: apitest.Header("Content-Type", "application/json; charset"), status: 415,
			code: "unsupported_media_type"},
		{reason: "two of them", request: apitest.Header("Content-Type", json, json), status: 415, code: "unsupported_media_type"},
		{reason: "a compressed body", request: apitest.Header("Content-Encoding", "gzip"), status: 415, code: "unsupported_media_type"},

		{reason: "an empty Idempotency-Key", request: apitest.Header("Idempotency-Key", ""), status: 400, code: "invalid_idempotency_key"},
		{reason: "one that is too long", request: apitest.Header("Idempotency-Key", strings.Repeat("k", 256)), status: 400,
			code: "invalid_idempotency_key"},
		{reason: "one with a control character", request: apitest.Header("Idempotency-Key", "a\tb"), status: 400,
			code: "invalid_idempotency_key"},
		{reason: "one that is not ASCII", request: apitest.Header("Idempotency-Key", "clé"), status: 400, code: "invalid_idempotency_key"},
		{reason: "two of them", request: apitest.Header("Idempotency-Key", "a", "b"), status: 400, code: "invalid_idempotency_key"},

		{reason: "dryRun without a value", request: apitest.Query("dryRun"), status: 400, code: "invalid_request"},
		{reason: "dryRun=1", request: apitest.Query("dryRun=1"), status: 400, code: "invalid_request"},
		{reason: "dryRun=All, as kubectl has it", request: apitest.Query("dryRun=All"), status: 400, code: "invalid_request"},
		{reason: "dryRun twice, one wrong", request: apitest.Query("dryRun=true&dryRun=yes"), status: 400, code: "invalid_request"},
		{reason: "dryrun in another case", request: apitest.Query("dryrun=on"), status: 400, code: "invalid_request"},
		{reason: "rerun=1", request: apitest.Query("rerun=1"), status: 400, code: "invalid_request"},
		{reason: "a query that cannot be read", request: apitest.Query("dryRun=true;x=%zz"), status: 400, code: "invalid_request"},
		{reason: "an X-Dry-Run that is neither", request: apitest.Header("X-Dry-Run", "yes"), status: 400, code: "invalid_request"},

		{reason: "a body that says it is too large", request: func(r *http.Request) { r.ContentLength = 256<<10 + 1 }, status: 413,
			code: "body_too_large"},
		{reason: "a body of one byte more than allowed", request: func(r *http.Request) { r.ContentLength = -1 },
			body: apitest.Member("x", apitest.Text(256<<10-8+1)), status: 413, code: "body_too_large"},
		{reason: "a body that does not come",
			request: func(r *http.Request) { r.Body = io.NopCloser(apitest.FailingReader{Err: os.ErrDeadlineExceeded}) }, status: 408,
			code: "body_timeout"},
		{reason: "a body that breaks off",
			request: func(r *http.Request) { r.Body = io.NopCloser(apitest.FailingReader{Err: io.ErrUnexpectedEOF}) }, status: 400,
			code: "invalid_body", hidden: inText},
	}
}

// badBodies are rejected after they were read.
func badBodies() []bad {
	rows := []bad{
		badBody("white space", " \n", "", ""),
		badBody("no JSON", "branch=main", "", ""),
		badBody("half of it", `{"branch":"ma`, "", ""),
		badBody("a trailing comma", `{"branch":"main",}`, "", ""),
		badBody("single quotes", `{'branch':'main'}`, "", ""),
		badBody("a comment", `{/* here */}`, "", ""),
		badBody("null", `null`, "", ""),
		badBody("an array", `[{"branch":"main"}]`, "", ""),
		badBody("a string", `"main"`, "", ""),
		badBody("a number", `1`, "", ""),
		badBody("true", `true`, "", ""),
		badBody("NaN", apitest.Member("x", "NaN"), "", ""),
		badBody("a literal control character", "{\"x\":\"a\nb\"}", "", ""),
		badBody("another object after it", `{} {}`, "", inText),
		badBody("text after it", `{} x`, "", inText),
		badBody("a name given twice", `{"sha":"a","sha":"a"}`, "sha", inText),
		badBody("a name given twice, once escaped", `{"sha":"a","\u0073ha":"b"}`, "sha", inText),
		badBody("an unknown name given twice", `{"x":1,"x":2}`, "x", inText),
		badBody("a variable given twice", apitest.Member("variables", `{"A":"1","A":"2"}`), "variables.A", inText),
		badBody("a name given twice deep inside", apitest.Member("x", `[{"y":{"z":1,"z":2}}]`), "x.0.y.z", inText),
		badBody("invalid UTF-8 in a value", "{\"branch\":\"\xff\"}", "branch", inText),
		badBody("invalid UTF-8 in a name", "{\"\xc3\x28\":1}", "", inText),
		badBody("an overlong encoding", "{\"branch\":\"\xc0\xaf\"}", "branch", inText),
		badBody("half a surrogate", `{"branch":"\ud800"}`, "branch", inText),
		badBody("UTF-16", "{\x00}\x00", "", ""),
		badBody("a byte order mark", "\xef\xbb\xbf{}", "", ""),
		badBody("65 levels", apitest.Member("x", strings.Repeat("[", 65)+strings.Repeat("]", 65)), "", inNesting),
		badBody("100,000 levels", strings.Repeat(`{"x":`, 20000)+"1"+strings.Repeat("}", 20000), "", ""),

		badBody("a branch that is too long", apitest.Member("branch", apitest.Text(1025)), "branch", ""),
		badBody("a branch of too many bytes", apitest.Member("branch", `"`+strings.Repeat("é", 513)+`"`), "branch", inBytes),
		badBody("a control character in a branch", apitest.Member("branch", `"a\u0007b"`), "branch", inUnicode),
		badBody("a NUL in a branch", apitest.Member("branch", `"a\u0000b"`), "branch", inUnicode),
		badBody("a sha that is too long", apitest.Member("sha", apitest.Text(129)), "sha", inText),
		badBody("a sha in two lines", apitest.Member("sha", `"a\nb"`), "sha", inUnicode),
		badBody("an invisible character in a sha", apitest.Member("sha", `"a\u200bb"`), "sha", inUnicode),
		badBody("a type that is too long", apitest.Member("deployment_type", apitest.Text(257)), "deployment_type", ""),
		badBody("a control character in a type", apitest.Member("deployment_type", `"a\tb"`), "deployment_type", inUnicode),
		badBody("a key that is too long", apitest.Member("deduplication_key", apitest.Text(257)), "deduplication_key", ""),
		badBody("another hosting service", apitest.Member("hosting_service", `"Bitbucket"`), "hosting_service", ""),
		badBody("a pull request 0", apitest.Member("pull_request_number", `0`), "pull_request_number", ""),
		badBody("a negative pull request", apitest.Member("pull_request_number", `-1`), "pull_request_number", ""),
		badBody("half a pull request", apitest.Member("pull_request_number", `1.5`), "pull_request_number", ""),
		badBody("a huge pull request", apitest.Member("pull_request_number", `9007199254740993`), "pull_request_number", ""),
		badBody("a pull request beyond every integer", apitest.Member("merge_request_number", `1e400`), "merge_request_number", ""),
		badBody("two pull requests", `{"pull_request_number":1,"merge_request_number":2}`, "merge_request_number", inObjects),
		badBody("a repository without an owner", apitest.Member("repository", `"shop"`), "repository", ""),
		badBody("a repository with an empty part", apitest.Member("repository", `"acme//shop"`), "repository", ""),
		badBody("a repository with a space", apitest.Member("repository", `"ac me/shop"`), "repository", ""),
		badBody("a repository that is too long", apitest.Member("repository", `"a/`+strings.Repeat("x", 255)+`"`), "repository", ""),
		badBody("an owner of the wrong type", apitest.Member("repository", `{"owner":1,"name":"shop"}`), "repository.owner", ""),
		badBody("an owner only", apitest.Member("repository", `{"owner":"acme"}`), "repository.name", inObjects),
		badBody("a name only", apitest.Member("repository", `{"name":"shop"}`), "repository.owner", inObjects),
		badBody("owner and namespace that differ", apitest.Member("repository", `{"owner":"a","namespace":"b","name":"c"}`),
			"repository.namespace", inObjects),
		badBody("a slash in the name", apitest.Member("repository", `{"owner":"a","name":"b/c"}`), "repository.name", inObjects),

		badBody("a variable that is a number", apitest.Member("variables", `{"A":1}`), "variables.A", ""),
		badBody("a variable that is a boolean", apitest.Member("variables", `{"A":true}`), "variables.A", ""),
		badBody("a variable that is an object", apitest.Member("variables", `{"A":{}}`), "variables.A", ""),
		badBody("a variable with an empty name", apitest.Member("variables", `{"":"x"}`), `variables.""`, inObjects),
		badBody("a variable that starts with a digit", apitest.Member("variables", `{"1A":"x"}`), "variables.1A", inObjects),
		badBody("a variable with a space", apitest.Member("variables", `{"A B":"x"}`), `variables."A B"`, inObjects),
		badBody("a variable with an equals sign", apitest.Member("variables", `{"A=B":"x"}`), "variables.A=B", inObjects),
		badBody("a variable with a NUL", apitest.Member("variables", `{"A":"a\u0000b"}`), "variables.A", inUnicode),
		badBody("a variable that is too long", apitest.Member("variables", `{"A":`+apitest.Text(32<<10+1)+`}`), "variables.A", ""),
		badBody("a name that is too long", apitest.Member("variables", `{"`+strings.Repeat("A", 257)+`":"x"}`),
			"variables."+strings.Repeat("A", 64)+"…", inObjects),
		badBody("129 variables", variables(129, 1), "variables", inObjects),
		badBody("variables that are too large together", variables(3, 30<<10), "variables", inSum),
		badBody("an ephemeral environment without a URL", apitest.Member("ephemeral_environment", "true"), "ephemeral_environment", ""),
		badBody("one with an empty URL", `{"ephemeral_environment":true,"deployment_url":""}`, "ephemeral_environment", ""),
		badBody("one with a URL that is null", `{"deployment_url":null,"ephemeral_environment":true}`, "ephemeral_environment", ""),
	}
	for _, field := range []string{"deployment_url", "commit_url"} {
		for reason, row := range map[string]struct{ url, hidden string }{
			"a relative URL":            {`"/path"`, ""},
			"no scheme":                 {`"example.com"`, ""},
			"no scheme, but a port":     {`"example.com:80"`, ""},
			"another scheme":            {`"ftp://example.com"`, ""},
			"a script":                  {`"javascript:alert(1)"`, ""},
			"no host":                   {`"https://"`, ""},
			"a path in place of a host": {`"https:///path"`, inUnicode},
			"a space":                   {`"https://exa mple.com"`, ""},
			"a user name":               {`"https://user@example.com"`, inUnicode},
			"a password":                {`"https://user:secret@example.com"`, inUnicode},
			"a bad port":                {`"https://example.com:99999"`, inUnicode},
			"a bad escape":              {`"https://example.com/%zz"`, inUnicode + "; deployment URLs are opened as they are"},
			"a line break":              {`"https://example.com/\n"`, ""},
			"too long":                  {`"https://example.com/` + strings.Repeat("x", 2048) + `"`, ""},
		} {
			rows = append(rows, badBody(field+": "+reason, apitest.Member(field, row.url), field, row.hidden))
		}
	}
	for _, field := range []string{"branch", "sha", "deployment_type", "deployment_url", "hosting_service", "commit_url",
		"deduplication_key"} {
		for _, value := range []string{`1`, `true`, `["main"]`, `{"main":1}`} {
			rows = append(rows, badBody(field+" is "+value, apitest.Member(field, value), field, ""))
		}
	}
	for _, value := range []string{`"true"`, `1`, `0`, `[]`, `{}`} {
		rows = append(rows, badBody("ephemeral_environment is "+value, apitest.Member("ephemeral_environment", value), "ephemeral_environment",
			""))
	}
	for _, value := range []string{`"A=B"`, `1`, `true`, `[{"A":"B"}]`} {
		rows = append(rows, badBody("variables is "+value, apitest.Member("variables", value), "variables", ""))
	}
	for _, value := range []string{`1`, `true`, `["acme/shop"]`} {
		rows = append(rows, badBody("repository is "+value, apitest.Member("repository", value), "repository", ""))
	}
	for _, value := range []string{`"1"`, `true`, `[1]`, `{}`} {
		rows = append(rows, badBody("pull_request_number is "+value, apitest.Member("pull_request_number", value), "pull_request_number", ""))
	}
	return rows
}
