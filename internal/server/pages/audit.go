package pages

import (
	"context"
	"errors"
	"net/http"
)

// auditLine says who did what, as the HTTP API does. Requests that do nothing have no line.
func (u *UI) auditLine(r *request, err error) {
	if r.audit == nil {
		return
	}
	kind, who := "person", r.access.Name
	if r.access.Key != "" {
		kind, who = "key", r.access.Key
	}
	line := []any{kind, who, "signedInBy", r.identity.Kind, "method", r.Method, "route", r.Pattern, "code", codeOf(err)}
	if r.team != nil {
		line = append(line, "team", r.team.Name)
	}
	u.Audit.InfoContext(context.WithoutCancel(r.Context()), "request", append(line, r.audit...)...)
}

// codeOf is the status of the answer to what acts, which leads to another page if it could be done.
func codeOf(err error) int {
	var p *problem
	switch {
	case err == nil:
		return http.StatusSeeOther
	case errors.As(err, &p):
		return p.Status
	default:
		return http.StatusInternalServerError
	}
}
