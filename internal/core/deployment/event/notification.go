package event

import (
	"maps"

	"github.com/go-json-experiment/json"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// NewNotification returns a Notification with the members of the HTTP contract, and checks them as for any other sender.
func NewNotification(members map[string]string) (*notification.Notification, error) {
	sent := maps.Clone(members)
	maps.DeleteFunc(sent, func(_, value string) bool { return value == "" })
	body, err := json.Marshal(sent)
	if err != nil {
		return nil, &InvalidError{Reason: "The event has text that is not valid UTF-8."}
	}
	n, err := notification.Decode(body)
	if err != nil {
		return nil, &InvalidError{Reason: "The event is no valid notification: " + err.Error()}
	}
	return n, nil
}
