package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// tlsOptions are the flags of HTTPS.
type tlsOptions struct {
	certFile, keyFile string
	minVersion        string
}

var tlsVersions = map[string]uint16{"": tls.VersionTLS12, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

func (o *tlsOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.certFile, "tls-cert-file", "",
		"PEM of the certificate of the HTTP API, with those between it and the authority; read again when it changes")
	f.StringVar(&o.keyFile, "tls-key-file", "", "PEM of its private key")
	f.StringVar(&o.minVersion, "tls-min-version", "1.2", "lowest version of TLS that a client may use: 1.2 or 1.3")
}

func (o *tlsOptions) configured() bool { return o.certFile != "" || o.keyFile != "" }

func (o *tlsOptions) scheme() string {
	if o.configured() {
		return "https"
	}
	return "http"
}

// validate also reads the files, so that a wrong one fails at once.
func (o *tlsOptions) validate() error {
	if _, ok := tlsVersions[o.minVersion]; !ok {
		return fmt.Errorf("--tls-min-version %q: must be 1.2 or 1.3", o.minVersion)
	}
	switch {
	case !o.configured():
		return nil
	case o.certFile == "" || o.keyFile == "":
		return errors.New("--tls-cert-file and --tls-key-file: set both, or neither")
	}
	if _, err := tls.LoadX509KeyPair(o.certFile, o.keyFile); err != nil {
		return fmt.Errorf("--tls-cert-file and --tls-key-file: %w", err)
	}
	return nil
}

// setupTLS watches the files of the certificate. It returns nil without any.
func setupTLS(mgr ctrl.Manager, o tlsOptions, metrics prometheus.Registerer) (*tls.Config, error) {
	if !o.configured() {
		return nil, nil
	}
	watcher, err := certwatcher.New(o.certFile, o.keyFile)
	if err != nil {
		return nil, fmt.Errorf("watch the certificate of the HTTP API: %w", err)
	}
	config := &tls.Config{MinVersion: tlsVersions[o.minVersion], GetCertificate: watcher.GetCertificate}
	return config, errors.Join(mgr.Add(watcher), registerExpiry(config, metrics))
}

// registerExpiry tells operators until when the certificate is valid that is being served.
func registerExpiry(config *tls.Config, metrics prometheus.Registerer) error {
	return metrics.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "postflight_tls_certificate_expiry_timestamp_seconds",
		Help: "Until when the certificate of the HTTP API is valid, in seconds since 1970; absent without one.",
	}, func() float64 {
		certificate, err := config.GetCertificate(nil)
		if err != nil || certificate.Leaf == nil {
			return 0 // long ago, so that alerts fire
		}
		return float64(certificate.Leaf.NotAfter.Unix())
	}))
}

// metricsTLS is the HTTP API's TLS. Without it, the tokens of clients that read the metrics still need encryption, so the metrics have a
// certificate of no authority.
func metricsTLS(o options, api *tls.Config) (*tls.Config, error) {
	if api != nil || !o.metricsAuth {
		return api, nil
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("create a certificate for the metrics: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	return &tls.Config{MinVersion: tlsVersions[o.tls.minVersion], Certificates: []tls.Certificate{pair}}, err
}
