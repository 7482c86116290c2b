package mask

import "regexp"

// secretParameter matches parameters of URLs that let the reader in, such as the signature of a URL of the object store.
var secretParameter = regexp.MustCompile(`(?i)((?:[?&;#]|\\u0026|%26|%3f)` +
	`(?:[\w.-]*(?:token|secret|passw|pwd|credential|api_?key|access_?key|signature|session|cookie)[\w.-]*|sig|key|auth|code|jwt)(?:=|%3d))[^&\s"'<>#;\\%]+(?:%[0-9A-Fa-f]{2}[^&\s"'<>#;\\%]*)*`)

// Text masks what lets a reader in somewhere, in a text of unknown origin: known forms of credentials, passwords in URLs, and parameters of
// signed URLs.
func Text(text string) string {
	text = secretValue.ReplaceAllLiteralString(text, mask)
	text = password.ReplaceAllString(text, "${1}"+mask+"@")
	return secretParameter.ReplaceAllString(text, "${1}"+mask)
}
