package event

// VerifyError says why an event is not of its sender. The reason is for the log of the operator: a forger gets the same answer for all.
type VerifyError struct {
	Reason string // a sentence without a full stop, e.g. "the header X-Hub-Signature-256 is missing"
}

func (e *VerifyError) Error() string { return e.Reason }

// InvalidError says what is wrong with an event whose signature is right.
type InvalidError struct {
	Reason string // a sentence, for the person who reads the sender's list of deliveries
}

func (e *InvalidError) Error() string { return e.Reason }
