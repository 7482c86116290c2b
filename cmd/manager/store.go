package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	archivecontroller "github.com/postflight-dev/postflight/controllers/archive"
	deployedcontroller "github.com/postflight-dev/postflight/controllers/deployed"
	suitecontroller "github.com/postflight-dev/postflight/controllers/suite"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/podlogs"
	"github.com/postflight-dev/postflight/internal/server/api/files"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/store/inputs"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/environments"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// storeOptions are the flags of the object store. Each defaults to a variable, so that one Secret or
// ConfigMap can configure a Deployment.
type storeOptions struct {
	objectstore.Options
	caFile       string
	createBucket bool
	image        string

	maxInputSize     resource.QuantityValue
	requireInputSize bool
}

func (o *storeOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Endpoint, "store-endpoint", os.Getenv("POSTFLIGHT_STORE_ENDPOINT"),
		"URL of the S3-compatible object store, for the manager and pods; default: $POSTFLIGHT_STORE_ENDPOINT")
	f.StringVar(&o.PublicEndpoint, "store-public-endpoint", os.Getenv("POSTFLIGHT_STORE_PUBLIC_ENDPOINT"),
		"its URL for CI; default: $POSTFLIGHT_STORE_PUBLIC_ENDPOINT, or --store-endpoint")
	f.StringVar(&o.Region, "store-region", cmp.Or(os.Getenv("POSTFLIGHT_STORE_REGION"), "us-east-1"),
		"its region, a part of every signature; default: $POSTFLIGHT_STORE_REGION")
	f.StringVar(&o.Bucket, "store-bucket", os.Getenv("POSTFLIGHT_STORE_BUCKET"), "its bucket; default: $POSTFLIGHT_STORE_BUCKET")
	f.BoolVar(&o.PathStyle, "store-path-style", boolVariable("POSTFLIGHT_STORE_PATH_STYLE", true),
		"put the bucket in the path of URLs, not in their host; default: $POSTFLIGHT_STORE_PATH_STYLE")
	f.StringVar(&o.caFile, "store-ca-file", os.Getenv("POSTFLIGHT_STORE_CA_FILE"),
		"PEM of the certificate authority of its TLS, for the manager and for pods; "+
			"default: $POSTFLIGHT_STORE_CA_FILE, or those of the system")
	f.StringVar(&o.CredentialsPath, "store-credentials", os.Getenv("POSTFLIGHT_STORE_CREDENTIALS"),
		"file like ~/.aws/credentials, or folder with files AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, such as a mounted Secret; "+
			"read again when it changes; "+
			"default: $POSTFLIGHT_STORE_CREDENTIALS, or variables of these names, or the cloud's own source")
	f.BoolVar(&o.createBucket, "store-create-bucket", boolVariable("POSTFLIGHT_STORE_CREATE_BUCKET", false),
		"create the bucket if it does not exist; default: $POSTFLIGHT_STORE_CREATE_BUCKET")
	f.DurationVar(&o.UploadLifetime, "signed-url-lifetime", objectstore.DefaultUploadLifetime,
		"how long a URL to upload to is valid, from 1s to 168h")
	o.maxInputSize.Quantity = resource.MustParse("5Gi") // what stores take in one request
	f.Var(&o.maxInputSize, "max-input-size", "how large an input file may be, such as 500Mi")
	f.BoolVar(&o.requireInputSize, "require-input-size", false,
		"sign uploads only if the request says how large the file is, as postflight upload does; "+
			"otherwise only the run refuses a file that is too large")
	f.StringVar(&o.image, "image", os.Getenv("POSTFLIGHT_IMAGE"),
		"image of Postflight that downloads run inputs in pods, waits for the version under test, and uploads results; "+
			"default: $POSTFLIGHT_IMAGE, or the image of the manager's own pod")
}

// boolVariable reads the default of a flag.
func boolVariable(variable string, fallback bool) bool {
	if value, err := strconv.ParseBool(os.Getenv(variable)); err == nil {
		return value
	}
	return fallback
}

// configured reports whether there is a store at all.
func (o *storeOptions) configured() bool { return o.Endpoint != "" || o.Bucket != "" }

// maxCA bounds a CA file, in bytes: pods get two in one variable, which Linux bounds at 128 KiB.
const maxCA = 60 << 10

// validate also reads the CA file, so that an invalid one fails at once.
func (o *storeOptions) validate() error {
	if !o.configured() {
		return nil
	}
	var errs []error
	if o.maxInputSize.Sign() <= 0 {
		errs = append(errs, fmt.Errorf("--max-input-size %s: must be more than 0", o.maxInputSize.String()))
	}
	if o.caFile != "" {
		ca, err := readCA("--store-ca-file", o.caFile)
		errs = append(errs, err)
		o.CA = ca
	}
	return errors.Join(append(errs, o.Validate())...)
}

func readCA(flag, file string) ([]byte, error) {
	ca, err := os.ReadFile(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", flag, err)
	case len(ca) > maxCA:
		return nil, fmt.Errorf("%s: has %d bytes, and %d are allowed; use only the certificate that signed the server's, "+
			"because those of public authorities are built in", flag, len(ca), maxCA)
	case !x509.NewCertPool().AppendCertsFromPEM(ca):
		return nil, fmt.Errorf("%s: %s has no certificate in PEM", flag, file)
	}
	return ca, nil
}

// setupStore returns nil if no store is configured.
func setupStore(mgr ctrl.Manager, o storeOptions, metrics prometheus.Registerer, ready checks) (*objectstore.Bucket, error) {
	if !o.configured() {
		return nil, nil
	}
	bucket, err := objectstore.New(o.Options)
	if err != nil {
		return nil, fmt.Errorf("set up the object store: %w", err)
	}
	ready["store"] = bucket.Ready
	return bucket, errors.Join(
		bucket.Register(metrics),
		mgr.Add(&objectstore.Watcher{Bucket: bucket, CreateBucket: o.createBucket}),
	)
}

// setupRecords returns what saves records, and what summarizes and deletes them: nothing if there is no store. It creates the client that
// reads logs of pods.
func setupRecords(
	mgr ctrl.Manager, bucket *objectstore.Bucket, now clock.PassiveClock, metrics prometheus.Registerer,
) (archivecontroller.Config, []manager.Runnable, error) {
	if bucket == nil {
		return archivecontroller.Config{}, nil, nil
	}
	logs, err := podlogs.New(mgr.GetConfig())
	if err != nil {
		return archivecontroller.Config{}, nil, err
	}
	a, lifetimes := &archive.Archive{Bucket: bucket}, recordLifetimes(mgr.GetCache())
	cleaner, summarizer := archive.NewCleaner(a, lifetimes, now), archive.NewSummarizer(a, lifetimes, clock.RealClock{})
	cleaner.EnvironmentExists = environmentExists(mgr.GetCache())
	config := archivecontroller.Config{Store: a, Summaries: summarizer, Logs: logs}
	return config, []manager.Runnable{cleaner, summarizer}, cleaner.Register(metrics)
}

// recordLifetimes returns how long each Team keeps its records. What a deleted Team left behind stays.
func recordLifetimes(cache client.Reader) func(context.Context) (map[string]time.Duration, error) {
	return func(ctx context.Context) (map[string]time.Duration, error) {
		teams := &v1alpha1.TeamList{}
		err := cache.List(ctx, teams)
		all := map[string]time.Duration{}
		for _, t := range teams.Items {
			all[t.Name] = t.RecordLifetime()
		}
		return all, err
	}
}

// environmentExists asks the cache, which had each Environment before the archive had its deployments.
func environmentExists(cache client.Reader) func(ctx context.Context, team, environment string) (bool, error) {
	return func(ctx context.Context, team, environment string) (bool, error) {
		t := &v1alpha1.Team{}
		if err := cache.Get(ctx, client.ObjectKey{Name: team}, t); err != nil {
			return false, err
		}
		err := cache.Get(ctx, client.ObjectKey{Namespace: t.NamespaceName(), Name: environment}, &v1alpha1.Environment{})
		return err == nil, apierror.IgnoreNotFound(err)
	}
}

// problemOf is nil without a store.
func problemOf(bucket *objectstore.Bucket) func() string {
	if bucket == nil {
		return nil
	}
	return bucket.Problem
}

// uploads is nil without a store.
func uploads(bucket *objectstore.Bucket) files.Uploads {
	if bucket == nil {
		return nil
	}
	return &inputs.Store{Bucket: bucket}
}

// inputsOfRuns is nil without a store.
func inputsOfRuns(bucket *objectstore.Bucket) dispatch.Inputs {
	if bucket == nil {
		return nil
	}
	return &inputs.Store{Bucket: bucket}
}

// artifacts is nil without a store.
func artifacts(bucket *objectstore.Bucket) podfiles.Store {
	if bucket == nil {
		return nil
	}
	return &archive.Archive{Bucket: bucket}
}

// pastRuns is nil without a store.
func pastRuns(bucket *objectstore.Bucket) runs.Archive {
	if bucket == nil {
		return nil
	}
	return &archive.Archive{Bucket: bucket}
}

// testsOfRuns is nil without a store.
func testsOfRuns(bucket *objectstore.Bucket) suitecontroller.Tests {
	if bucket == nil {
		return nil
	}
	return &archive.Archive{Bucket: bucket}
}

// pastDeployments is nil without a store.
func pastDeployments(bucket *objectstore.Bucket) environments.Archive {
	if bucket == nil {
		return nil
	}
	return &archive.Archive{Bucket: bucket}
}

// newHistory returns nil without a store.
func newHistory(bucket *objectstore.Bucket, clock clock.PassiveClock) *history.Reader {
	if bucket == nil {
		return nil
	}
	return history.NewReader(&archive.Archive{Bucket: bucket}, clock, runs.DefaultLimits().LookupTimeout)
}

// deploymentStore is nil without a store.
func deploymentStore(bucket *objectstore.Bucket) deployedcontroller.Store {
	if bucket == nil {
		return nil
	}
	return &archive.Archive{Bucket: bucket}
}

// collector is nil without a store.
func collector(inputs suitecontroller.InputsConfig, o options) *job.Collector {
	if inputs.Store == nil {
		return nil
	}
	return &job.Collector{Image: inputs.Image, URL: o.podURL, CA: strings.Trim(inputs.CA+"\n"+o.podCA, "\n")}
}

func runInputs(bucket *objectstore.Bucket, image string, o options) suitecontroller.InputsConfig {
	if bucket == nil {
		return suitecontroller.InputsConfig{}
	}
	return suitecontroller.InputsConfig{
		Store: &inputs.Store{Bucket: bucket}, Limit: o.store.maxInputSize.Value(), Image: image, CA: string(o.store.CA),
	}
}

// runDocuments are nil without a store.
func runDocuments(bucket *objectstore.Bucket) suitecontroller.Documents {
	if bucket == nil {
		return nil
	}
	return &archive.Archive{Bucket: bucket}
}
