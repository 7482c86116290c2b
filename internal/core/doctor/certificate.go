package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"time"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	checkCertificates = "certificates"

	renewedBefore = 21 * 24 * time.Hour // later than cert-manager renews a certificate of 90 days
)

// Certificate checks the certificate of a Secret, in PEM.
func Certificate(secret string, content []byte, now time.Time) Finding {
	const renew = "Renew it, or see in the events of its Certificate why cert-manager does not."
	block, _ := pem.Decode(content)
	if block == nil {
		return failure(checkCertificates, "Put a certificate there.", "The Secret %s has no certificate in tls.crt.", secret)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return failure(checkCertificates, "Put a certificate there.", "The certificate in the Secret %s cannot be read: %s.", secret, err)
	}
	left := c.NotAfter.Sub(now)
	switch {
	case left <= 0:
		return failure(checkCertificates, renew, "The certificate in the Secret %s expired %s ago.", secret, plaintext.Duration(-left))
	case now.Before(c.NotBefore):
		return failure(checkCertificates, "See the clocks of the issuer and of the nodes.",
			"The certificate in the Secret %s is not valid before %s.", secret, c.NotBefore.UTC().Format(time.RFC3339))
	case left < renewedBefore:
		return warning(checkCertificates, renew, "The certificate in the Secret %s expires in %s.", secret, plaintext.Duration(left))
	default:
		return ok(checkCertificates, "That in the Secret %s is valid for %d days.", secret, int(left.Hours()/24))
	}
}
