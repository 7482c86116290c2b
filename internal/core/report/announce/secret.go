package announce

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// The keys of a Secret.
const (
	keyURL    = "url"
	keySecret = "secret"
	keyToken  = "token"
)

// Target is where messages go, and what signs them.
type Target struct {
	URL  string
	Keys [][]byte // none for a chat

	Token string // of a chat with threads, in place of the URL
}

// ParseSecret reads where the messages to a receiver go. The problem is a clause, without what the Secret has.
func ParseSecret(r Receiver, data map[string][]byte) (to Target, problem string) {
	if r.Channel != "" {
		to.Token, problem = parseToken(string(data[keyToken]))
		return to, problem
	}
	if r.Kind.Chat() && len(data[keyURL]) == 0 && len(data[keyToken]) > 0 {
		return to, "it has no key url. To use its key token, set spec.notify.slack.channel"
	}
	to.URL = r.URL
	if to.URL == "" {
		to.URL = strings.TrimSpace(string(data[keyURL]))
	}
	if problem = urlProblem(to.URL, r.URL == ""); problem != "" {
		return Target{}, problem
	}
	if !r.Kind.Chat() {
		if to.Keys, problem = parseKeys(string(data[keySecret])); problem != "" {
			return Target{}, problem
		}
	}
	return to, ""
}

// parseToken accepts the tokens of bots, also those that expire. Others would write in the name of a person.
func parseToken(text string) (token, problem string) {
	token = strings.TrimSpace(text)
	bot := strings.HasPrefix(token, "xoxb-") || strings.HasPrefix(token, "xoxe.xoxb-")
	outside := func(c rune) bool { return c <= ' ' || c > '~' }
	switch {
	case token == "":
		return "", "it has no key token, which spec.notify.slack.channel needs"
	case !bot, len(token) > maxToken, strings.ContainsFunc(token, outside):
		return "", "its key token is not the token of a bot, which begins with xoxb-"
	default:
		return token, ""
	}
}

func urlProblem(text string, inSecret bool) string {
	u, err := url.Parse(text)
	switch {
	case text == "" && inSecret:
		return "it has no key url"
	case err != nil, u.Host == "", u.Scheme != "https" && u.Scheme != "http", len(text) > maxURL, u.User != nil, u.Fragment != "":
		return "its url is not an https URL without user and fragment"
	default:
		return ""
	}
}

func parseKeys(text string) (keys [][]byte, problem string) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, "it has no key secret"
	}
	if len(words) > maxKeys {
		return nil, "its key secret has more than 4 lines"
	}
	for _, word := range words {
		encoded, isKey := strings.CutPrefix(word, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !isKey || err != nil || len(key) < minKeyBytes || len(key) > maxKeyBytes {
			return nil, "a line of its key secret is not whsec_ and 24 to 64 bytes in base64"
		}
		keys = append(keys, key)
	}
	return keys, ""
}
