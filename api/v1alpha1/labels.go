package v1alpha1

const (
	// LabelTrigger holds the name of the Trigger, on a Suite, its Job and its pods.
	LabelTrigger = "postflight.dev/trigger"

	// LabelEnvironment holds the name of the Environment, on a Suite, its Job and its pods.
	LabelEnvironment = "postflight.dev/environment"

	// LabelSuite holds the name of the Suite, on its Job and its pods. It is what the manager's
	// cache of Jobs is filtered by.
	LabelSuite = "postflight.dev/suite"

	// LabelShortSHA holds the first 12 characters of the deployment's commit, on a Suite, where they
	// make a label value. Printer columns cannot cut, so this is also what kubectl shows.
	LabelShortSHA = "postflight.dev/short-sha"

	// AnnotationCanceledBy names who asked for a run to be canceled; set it together with spec.cancel.
	AnnotationCanceledBy = "postflight.dev/canceled-by"
)
