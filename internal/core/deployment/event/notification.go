package event

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// replacement is what Unmarshal writes for what is no character.
const replacement = "\uFFFD"

// Unmarshal reads an event. Its texts may be broken, because most are only shown, or skipped; NewNotification checks the others.
func Unmarshal(body []byte, into any, options ...json.Options) error {
	return json.Unmarshal(body, into, append(options, jsontext.AllowInvalidUTF8(true))...)
}

// NewNotification returns a Notification with the members of the HTTP contract, and checks them as for any other sender.
func NewNotification(members map[string]string) (*notification.Notification, error) {
	sent := maps.Clone(members)
	maps.DeleteFunc(sent, func(_, value string) bool { return value == "" })
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if strings.Contains(sent[name], replacement) && !notification.Shown(name) {
			return nil, notValid(&notification.InvalidError{Field: name, Reason: notification.BrokenText})
		}
	}
	body, err := json.Marshal(sent)
	if err != nil {
		return nil, notValid(err)
	}
	n, err := notification.Decode(body)
	if err != nil {
		return nil, notValid(err)
	}
	return n, nil
}

func notValid(err error) error {
	return &InvalidError{Reason: "The event is no valid notification: " + err.Error()}
}
