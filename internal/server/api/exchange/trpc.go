package exchange

import "net/http"

// trpcCodes are what tRPC calls the statuses of failures, and the numbers of JSON-RPC that it has for them.
var trpcCodes = map[int]struct {
	name   string
	number int
}{
	http.StatusBadRequest:            {"BAD_REQUEST", -32600},
	http.StatusUnauthorized:          {"UNAUTHORIZED", -32001},
	http.StatusForbidden:             {"FORBIDDEN", -32003},
	http.StatusNotFound:              {"NOT_FOUND", -32004},
	http.StatusMethodNotAllowed:      {"METHOD_NOT_SUPPORTED", -32005},
	http.StatusRequestTimeout:        {"TIMEOUT", -32008},
	http.StatusConflict:              {"CONFLICT", -32009},
	http.StatusRequestEntityTooLarge: {"PAYLOAD_TOO_LARGE", -32013},
	http.StatusUnsupportedMediaType:  {"UNSUPPORTED_MEDIA_TYPE", -32015},
	http.StatusInternalServerError:   {"INTERNAL_SERVER_ERROR", -32603},
	http.StatusServiceUnavailable:    {"SERVICE_UNAVAILABLE", -32603},
}

// trpcEnvelope is how tRPC writes a value for clients that transform it.
type trpcEnvelope struct {
	JSON any `json:"json"`
}

type trpcError struct {
	Message string        `json:"message"`
	Code    int           `json:"code"`
	Data    trpcErrorData `json:"data"`
}

type trpcErrorData struct {
	Code        string   `json:"code"`
	HTTPStatus  int      `json:"httpStatus"`
	FailureCode string   `json:"failureCode"`
	EventID     string   `json:"eventId"`
	Field       string   `json:"field,omitempty"`
	Results     []result `json:"results,omitempty"`
}

func newTRPCError(f *Failure, status int, eventID string) any {
	code := trpcCodes[status]
	return map[string]trpcEnvelope{"error": {trpcError{Message: f.Message, Code: code.number, Data: trpcErrorData{
		Code: code.name, HTTPStatus: status, FailureCode: f.Code, EventID: eventID, Field: f.Field, Results: f.Results,
	}}}}
}

// WriteTRPC answers as a procedure of tRPC.
func WriteTRPC(w http.ResponseWriter, answer any) {
	WriteJSON(w, http.StatusOK, map[string]map[string]trpcEnvelope{"result": {"data": {answer}}})
}
