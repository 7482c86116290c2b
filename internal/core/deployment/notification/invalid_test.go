package notification

import (
	"errors"
	"strings"
	"testing"
)

const secret = "hunter2"

var decodeRejectsCases = map[string]struct {
	reason string
	body   string
	field  string
	says   string
}{
	"Nothing":         {reason: "there must be a body", body: "", says: "The request body is empty; send a JSON object, at least {}."},
	"Blank":           {reason: "white space is no body", body: " \n", says: "is empty"},
	"Null":            {reason: "the body itself cannot be absent", body: `null`, says: "The request body must be a JSON object, not null."},
	"Array":           {reason: "the body is an object", body: `[{}]`, says: "must be a JSON object, not an array"},
	"Text":            {reason: "the body is an object", body: `"{}"`, says: "must be a JSON object, not a string"},
	"Number":          {reason: "the body is an object", body: `12`, says: "not a number"},
	"Boolean":         {reason: "the body is an object", body: `true`, says: "not a boolean"},
	"NoJSON":          {reason: "the body is JSON", body: `branch=main`, says: "is not valid JSON at byte 0: invalid character 'b'"},
	"Half":            {reason: "the body is whole", body: `{"branch":"main"`, says: "ends too early"},
	"HalfString":      {reason: "the body is whole", body: `{"branch":"ma`, says: "ends too early"},
	"HalfUnknown":     {reason: "so are unknown fields", body: `{"x":[1,`, says: "ends too early"},
	"Trailing":        {reason: "nothing follows", body: `{} {}`, says: "The request body continues after the JSON object; send one object and nothing after it."},
	"TrailingText":    {reason: "nothing follows", body: `{}x`, says: "continues after"},
	"TrailingNUL":     {reason: "nothing follows", body: "{}\x00", says: "continues after"},
	"TrailingComma":   {reason: "JSON has no trailing commas", body: `{"sha":"x",}`, says: "is not valid JSON at byte 10"},
	"SingleQuotes":    {reason: "JSON has no single quotes", body: `{'sha':'x'}`, says: "is not valid JSON"},
	"Comment":         {reason: "JSON has no comments", body: `{/*x*/}`, says: "is not valid JSON"},
	"NaN":             {reason: "JSON has no NaN", body: `{"x":NaN}`, says: "is not valid JSON"},
	"LeadingZero":     {reason: "JSON has no leading zeros", body: `{"x":012}`, says: "is not valid JSON"},
	"LineBreak":       {reason: "strings are on one line", body: "{\"branch\":\"a\nb\"}", says: "is not valid JSON"},
	"BadEscape":       {reason: "escapes are those of JSON", body: `{"branch":"\x41"}`, says: "invalid escape sequence in a string"},
	"LoneSurrogate":   {reason: "half a character is none", body: `{"branch":"\ud83d` + secret + `"}`, says: "invalid surrogate pair in a string"},
	"ByteOrderMark":   {reason: "some editors write one", body: "\xef\xbb\xbf{}", says: "byte order mark"},
	"UTF16":           {reason: "some shells write it", body: "\xff\xfe{\x00}\x00", says: "is not valid UTF-8"},
	"InvalidUTF8":     {reason: "strings are UTF-8", body: "{\"branch\":\"\xc3\x28\"}", says: "is not valid UTF-8"},
	"InvalidInName":   {reason: "so are names, known or not", body: "{\"\xff\":1}", says: "is not valid UTF-8"},
	"OverlongUTF8":    {reason: "an overlong form is no UTF-8", body: "{\"x\":\"\xc0\xaf\"}", says: "is not valid UTF-8"},
	"Twice":           {reason: "readers disagree about names given twice", body: `{"sha":"a","sha":"b"}`, field: "sha", says: "The field sha is given twice; send it once."},
	"TwiceEscaped":    {reason: "an escaped name is the same name", body: `{"sha":"a","\u0073ha":"b"}`, field: "sha", says: "is given twice"},
	"TwiceNull":       {reason: "absent counts", body: `{"sha":null,"sha":"b"}`, field: "sha", says: "is given twice"},
	"TwiceVariable":   {reason: "also within objects", body: `{"variables":{"A":"1","A":"1"}}`, field: "variables.A", says: "is given twice"},
	"TwiceUnknown":    {reason: "also within unknown fields", body: `{"x":[{"a":{"b":1,"b":1}}]}`, field: "x.0.a.b", says: "is given twice"},
	"TooDeep":         {reason: "nesting is bounded", body: `{"x":` + strings.Repeat("[", MaxNesting) + strings.Repeat("]", MaxNesting) + `}`, says: "more than 64 deep"},
	"FarTooDeep":      {reason: "however deep it is", body: strings.Repeat(`{"a":`, 50_000), says: "more than 64 deep"},
	"BranchNumber":    {reason: "a number is no string", body: `{"branch":1}`, field: "branch", says: "The field branch must be a string, not a number."},
	"BranchObject":    {reason: "an object is no string", body: `{"branch":{"name":"x"}}`, field: "branch", says: "not an object"},
	"BranchControl":   {reason: "git allows no control characters", body: `{"branch":"a\u0000b"}`, field: "branch", says: "control characters"},
	"BranchEscape":    {reason: "nor the escape of terminals", body: `{"branch":"a\u001b[31m"}`, field: "branch", says: "control characters"},
	"BranchC1":        {reason: "nor those of the upper half", body: `{"branch":"a\u009b"}`, field: "branch", says: "control characters"},
	"BranchTooLong":   {reason: "branches are bounded in bytes", body: `{"branch":"` + strings.Repeat("ü", 513) + `"}`, field: "branch", says: "is 1026 bytes long; at most 1024 are accepted"},
	"SHABoolean":      {reason: "a boolean is no string", body: `{"sha":false}`, field: "sha", says: "must be a string, not a boolean"},
	"SHAControl":      {reason: "a SHA is printable", body: `{"sha":"a\u200bb"}`, field: "sha", says: "must be printable text"},
	"SHATooLong":      {reason: "a SHA is bounded", body: `{"sha":"` + long(129) + `"}`, field: "sha", says: "is 129 bytes long"},
	"TypeArray":       {reason: "an array is no string", body: `{"deployment_type":["staging"]}`, field: "deployment_type", says: "must be a string, not an array"},
	"TypeLine":        {reason: "a type is printable", body: `{"deployment_type":"a\nb"}`, field: "deployment_type", says: "must be printable text"},
	"TypeTooLong":     {reason: "a type is bounded", body: `{"deployment_type":"` + long(257) + `"}`, field: "deployment_type", says: "is 257 bytes long"},
	"KeyNumber":       {reason: "a number is no string", body: `{"deduplication_key":7}`, field: "deduplication_key", says: "must be a string, not a number"},
	"KeyTooLong":      {reason: "a key is bounded", body: `{"deduplication_key":"` + long(257) + `"}`, field: "deduplication_key", says: "is 257 bytes long"},
	"URLNumber":       {reason: "a number is no string", body: `{"deployment_url":1}`, field: "deployment_url", says: "must be a string"},
	"URLRelative":     {reason: "a URL is absolute", body: `{"deployment_url":"/shop"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLNoScheme":     {reason: "a URL has a scheme", body: `{"deployment_url":"example.com"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLNoSchemePort": {reason: "a host with a port is no scheme", body: `{"deployment_url":"localhost:8080/x"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLScript":       {reason: "a URL is a link", body: `{"deployment_url":"javascript:alert(1)"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLFile":         {reason: "a URL is http or https", body: `{"deployment_url":"file:///etc/passwd"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLNoHost":       {reason: "a URL has a host", body: `{"deployment_url":"https:///x"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLOpaque":       {reason: "a URL has a host", body: `{"deployment_url":"https:example.com"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLOnlyPort":     {reason: "a port is no host", body: `{"deployment_url":"https://:80/"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLPort":         {reason: "a port is a port", body: `{"deployment_url":"https://h:65536/"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLSpace":        {reason: "a URL has no spaces", body: `{"deployment_url":"https://h/a b"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLNewline":      {reason: "a URL is on one line", body: `{"deployment_url":"https://h/\n"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLPercent":      {reason: "a URL is well escaped", body: `{"deployment_url":"https://h/%zz"}`, field: "deployment_url", says: "must be an absolute http or https URL"},
	"URLPassword":     {reason: "a secret must not show", body: `{"deployment_url":"https://me:` + secret + `@h/"}`, field: "deployment_url", says: "must not hold a user name or a password"},
	"URLUser":         {reason: "a token may be the user", body: `{"commit_url":"https://` + secret + `@h/"}`, field: "commit_url", says: "must not hold a user name or a password"},
	"URLBadPassword":  {reason: "not even in a broken URL", body: `{"commit_url":"https://me:` + secret + `%@h/"}`, field: "commit_url", says: "must be an absolute http or https URL"},
	"URLTooLong":      {reason: "a URL is bounded", body: `{"commit_url":"https://h/` + long(2048) + `"}`, field: "commit_url", says: "at most 2048"},
	"Hosting":         {reason: "there are two", body: `{"hosting_service":"Bitbucket"}`, field: "hosting_service", says: `must be GitHub or GitLab, not "Bitbucket"`},
	"HostingSpace":    {reason: "a name is not trimmed", body: `{"hosting_service":"GitHub "}`, field: "hosting_service", says: `not "GitHub "`},
	"HostingLong":     {reason: "what is repeated is bounded", body: `{"hosting_service":"` + strings.Repeat("ü", 4096) + `"}`, field: "hosting_service", says: strings.Repeat("ü", 32) + `…".`},
	"HostingNumber":   {reason: "a number is no string", body: `{"hosting_service":1}`, field: "hosting_service", says: "must be a string"},
	"EphemeralText":   {reason: "a string is no boolean", body: `{"ephemeral_environment":"true"}`, field: "ephemeral_environment", says: "must be true or false, not a string"},
	"EphemeralNumber": {reason: "a number is no boolean", body: `{"ephemeral_environment":1}`, field: "ephemeral_environment", says: "must be true or false, not a number"},
	"EphemeralAlone":  {reason: "an ephemeral Environment is named after its URL", body: `{"ephemeral_environment":true,"deployment_url":""}`, field: "ephemeral_environment", says: "needs a deployment_url"},
	"NumberText":      {reason: "a string is no number", body: `{"pull_request_number":"12"}`, field: "pull_request_number", says: "must be a number, not a string"},
	"NumberZero":      {reason: "numbers start at 1", body: `{"pull_request_number":0}`, field: "pull_request_number", says: "whole number from 1"},
	"NumberNegative":  {reason: "numbers start at 1", body: `{"merge_request_number":-1}`, field: "merge_request_number", says: "whole number from 1"},
	"NumberFraction":  {reason: "numbers are whole", body: `{"pull_request_number":1.5}`, field: "pull_request_number", says: "in digits only"},
	"NumberExponent":  {reason: "and written out", body: `{"pull_request_number":1e3}`, field: "pull_request_number", says: "in digits only"},
	"NumberHuge":      {reason: "and kept exactly", body: `{"pull_request_number":9007199254740992}`, field: "pull_request_number", says: "whole number from 1 to 9007199254740991"},
	"NumberFarHuge":   {reason: "and bounded", body: `{"pull_request_number":` + strings.Repeat("9", 999) + `}`, field: "pull_request_number", says: "whole number from 1 to 9007199254740991"},
	"PipelineText":    {reason: "a string is no number", body: `{"pipeline_id":"12"}`, field: "pipeline_id", says: "must be a number, not a string"},
	"PipelineZero":    {reason: "numbers start at 1", body: `{"pipeline_id":0}`, field: "pipeline_id", says: "whole number from 1"},
	"NumbersDiffer":   {reason: "one deployment is of one request", body: `{"pull_request_number":1,"merge_request_number":2}`, field: "merge_request_number", says: "send one of them"},
	"RepoNumber":      {reason: "a number names nothing", body: `{"repository":1}`, field: "repository", says: "must be an object"},
	"RepoArray":       {reason: "nor does an array", body: `{"repository":["a","b"]}`, field: "repository", says: "must be an object"},
	"RepoNoOwner":     {reason: "a full name has an owner", body: `{"repository":{"name":"shop"}}`, field: "repository.owner", says: "is missing"},
	"RepoNoName":      {reason: "and a name", body: `{"repository":{"owner":"acme"}}`, field: "repository.name", says: "last part"},
	"RepoFullName":    {reason: "a name is the last part only", body: `{"repository":{"owner":"acme","name":"acme/shop"}}`, field: "repository.name", says: "last part"},
	"RepoOwnerType":   {reason: "parts are strings", body: `{"repository":{"owner":{"login":"acme"},"name":"shop"}}`, field: "repository.owner", says: "must be a string, not an object"},
	"RepoOwners":      {reason: "one repository has one owner", body: `{"repository":{"owner":"a","namespace":"b","name":"c"}}`, field: "repository.namespace", says: "differs"},
	"RepoPlain":       {reason: "a full name has two parts", body: `{"repository":"shop"}`, field: "repository", says: "e.g. acme/shop"},
	"RepoSlashes":     {reason: "no part is empty", body: `{"repository":"acme//shop"}`, field: "repository", says: "e.g. acme/shop"},
	"RepoOwnerSlash":  {reason: "no part is empty", body: `{"repository":{"owner":"acme/","name":"shop"}}`, field: "repository", says: "e.g. acme/shop"},
	"RepoUp":          {reason: "a name becomes part of a URL", body: `{"repository":"../../evil"}`, field: "repository", says: "segments"},
	"RepoHere":        {reason: "a name becomes part of a URL", body: `{"repository":{"owner":"acme","name":"."}}`, field: "repository", says: "segments"},
	"RepoOwnerUp":     {reason: "a name becomes part of a URL", body: `{"repository":{"owner":"..","name":"shop"}}`, field: "repository", says: "segments"},
	"RepoURL":         {reason: "a URL is no name", body: `{"repository":"https://h/a/b"}`, field: "repository", says: "e.g. acme/shop"},
	"RepoSpace":       {reason: "names have no spaces", body: `{"repository":"acme/my shop"}`, field: "repository", says: "white space"},
	"RepoControl":     {reason: "nor control characters", body: `{"repository":{"owner":"a\u0000","name":"b"}}`, field: "repository.owner", says: "control characters"},
	"RepoTooLong":     {reason: "a full name is bounded", body: `{"repository":{"owner":"` + long(200) + `","name":"` + long(100) + `"}}`, field: "repository", says: "is 301 bytes long"},
	"VarsArray":       {reason: "variables are an object", body: `{"variables":["A=b"]}`, field: "variables", says: "must be an object of strings, not an array"},
	"VarsText":        {reason: "variables are an object", body: `{"variables":"A=b"}`, field: "variables", says: "not a string"},
	"VarNumber":       {reason: "a number is no string", body: `{"variables":{"FOO":1}}`, field: "variables.FOO", says: "The field variables.FOO must be a string, not a number."},
	"VarBoolean":      {reason: "nor is a boolean", body: `{"variables":{"FOO":true}}`, field: "variables.FOO", says: "must be a string, not a boolean"},
	"VarObject":       {reason: "nor is an object", body: `{"variables":{"FOO":{}}}`, field: "variables.FOO", says: "must be a string, not an object"},
	"VarNUL":          {reason: "no process gets a NUL", body: `{"variables":{"FOO":"` + secret + `\u0000"}}`, field: "variables.FOO", says: "must not hold a NUL"},
	"VarEmptyName":    {reason: "a name is not empty", body: `{"variables":{"":"x"}}`, field: `variables.""`, says: "is not the name of a variable"},
	"VarDigit":        {reason: "a name starts with no digit", body: `{"variables":{"1A":"x"}}`, field: "variables.1A", says: "is not the name of a variable"},
	"VarSpace":        {reason: "a name has no space", body: `{"variables":{"A B":"x"}}`, field: `variables."A B"`, says: "is not the name of a variable"},
	"VarEquals":       {reason: "nor an equals sign", body: `{"variables":{"A=B":"x"}}`, field: "variables.A=B", says: "is not the name of a variable"},
	"VarUmlaut":       {reason: "nor a letter beyond ASCII", body: `{"variables":{"Ä":"x"}}`, field: "variables.Ä", says: "is not the name of a variable"},
	"VarTerminal":     {reason: "what is repeated is made harmless", body: `{"variables":{"\u001b[2J":"x"}}`, field: `variables."\x1b[2J"`, says: "is not the name of a variable"},
	"VarTilde":        {reason: "also what a JSON pointer escapes", body: `{"variables":{"a/b~c":"x"}}`, field: "variables.a/b~c", says: "is not the name of a variable"},
}

// TestDecodeRejects also pins the sentences: they are what people see in the logs of their pipelines.
func TestDecodeRejects(t *testing.T) {
	for name, tc := range decodeRejectsCases {
		t.Run(name, func(t *testing.T) {
			n, err := Decode([]byte(tc.body))
			var invalid *InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("%s: Decode(%.200s) = %+v, %v; want an InvalidError", tc.reason, tc.body, n, err)
			}
			if invalid.Field != tc.field || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: Decode(%.200s): got error about %q: %s\nwant one about %q that says: %s", tc.reason, tc.body, invalid.Field, err, tc.field, tc.says)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: Decode(%.200s): the error repeats a secret: %s", tc.reason, tc.body, err)
			}
		})
	}
}
