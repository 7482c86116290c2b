// Package announce decides what is sent about a run to the webhooks of its Team and the chat of its Trigger, by the folder webhook.
package announce
