package issuer

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/internal/core/access/trust"
	"github.com/postflight-dev/postflight/internal/core/text/serverurl"
)

// Issuer is a server that signs tokens.
type Issuer struct {
	Name string `json:"name"` // for logs and metrics
	URL  string `json:"url"`  // exactly as in the claim iss

	// Audiences are those that TrustPolicies may accept; postflight by default.
	Audiences []string `json:"audiences,omitempty"`
	// JWKSURL is where its keys are. By default, the issuer says so at URL/.well-known/openid-configuration.
	JWKSURL string `json:"jwksURL,omitempty"`
	// Algorithms are those with which it may sign: RS256 and ES256 by default.
	Algorithms []jose.SignatureAlgorithm `json:"algorithms,omitempty"`
	// CA are certificates in PEM of the only authorities that are trusted to vouch for its server. By default, public ones are.
	CA string `json:"ca,omitempty"`
}

// algorithms are asymmetric: a shared secret would let anyone who can verify a token sign others.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

var issuerName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Load reads the list of issuers from a YAML file.
func Load(path string) ([]Issuer, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Issuers []Issuer `json:"issuers"`
	}
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(file.Issuers) > maxIssuers {
		return nil, fmt.Errorf("%s: has %d issuers, and %d are allowed", path, len(file.Issuers), maxIssuers)
	}
	var errs []error
	for i := range file.Issuers {
		if err := file.Issuers[i].complete(file.Issuers[:i]); err != nil {
			errs = append(errs, fmt.Errorf("%s: issuers[%d]: %w", path, i, err))
		}
	}
	return file.Issuers, errors.Join(errs...)
}

// Audiences are the issuers' audiences, by the issuer's URL.
func Audiences(issuers []Issuer) map[string][]string {
	byURL := map[string][]string{}
	for _, i := range issuers {
		byURL[i.URL] = i.Audiences
	}
	return byURL
}

func (i *Issuer) complete(others []Issuer) error {
	if len(i.Audiences) == 0 {
		i.Audiences = []string{trust.DefaultAudience}
	}
	if len(i.Algorithms) == 0 {
		i.Algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256}
	}
	if !issuerName.MatchString(i.Name) {
		return fmt.Errorf("name %q: must be at most 63 of a-z, 0-9 and '-'", i.Name)
	}
	if slices.ContainsFunc(others, func(o Issuer) bool { return o.Name == i.Name || o.URL == i.URL }) {
		return fmt.Errorf("name %q and url %q: another issuer has one of them", i.Name, i.URL)
	}
	if err := checkURL(i.URL); err != nil {
		return fmt.Errorf("url %q: %w", i.URL, err)
	}
	if err := checkURL(i.JWKSURL); i.JWKSURL != "" && err != nil {
		return fmt.Errorf("jwksURL %q: %w", i.JWKSURL, err)
	}
	if slices.Contains(i.Audiences, "") {
		return errors.New("audiences: one is empty")
	}
	for _, a := range i.Algorithms {
		if !slices.Contains(algorithms, a) {
			return fmt.Errorf("algorithms: %q is none of %v", a, algorithms)
		}
	}
	if i.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(i.CA)) {
		return errors.New("ca: has no certificate in PEM")
	}
	return nil
}

// roots are nil for the public authorities.
func (i *Issuer) roots() *x509.CertPool {
	if i.CA == "" {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(i.CA))
	return pool
}

// checkURL returns what is wrong with the URL of an issuer, or of its keys.
func checkURL(text string) error {
	return serverurl.Check(text, "anyone who answers in its place could sign any token")
}
