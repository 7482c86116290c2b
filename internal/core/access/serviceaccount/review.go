package serviceaccount

import (
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// ReviewedFor is how long the good answers of the API server count: a pipeline that asks every few seconds costs a review or two in that
// time, and a ServiceAccount, pod or binding that is deleted is noticed within it.
const ReviewedFor = 2 * time.Minute

// RefusedFor is how long a refusal counts: a binding that was just made is noticed while a person looks.
const RefusedFor = 10 * time.Second

// Account is a ServiceAccount that the API server has recognized by a token.
type Account struct {
	Namespace, Name string
	User            authenticationv1.UserInfo
}

// String returns namespace/name.
func (a Account) String() string { return a.Namespace + "/" + a.Name }

// TokenReview asks whose a token is that is for one of the audiences.
func TokenReview(token string, audiences ...string) *authenticationv1.TokenReview {
	return &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}
}

// Recognized returns the ServiceAccount of an answer. It checks the audience again, because an authenticator of the API server that knows
// no audiences ignores them.
func Recognized(s authenticationv1.TokenReviewStatus, audiences ...string) (Account, bool) {
	namespace, name, ok := account(s.User.Username)
	known := slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(s.Audiences, a) })
	if !s.Authenticated || !known || !ok {
		return Account{}, false
	}
	return Account{Namespace: namespace, Name: name, User: s.User}, true
}

// CountsUntil returns how long a good answer counts about a token that expires then.
func CountsUntil(now, expires time.Time) time.Time {
	if until := now.Add(ReviewedFor); until.Before(expires) {
		return until
	}
	return expires
}
