package notification

// Termination says that an ephemeral environment is gone. Exactly one field is set.
type Termination struct {
	DeploymentURL    string // of the notification that created it
	EnvironmentID    string // UID
	EnvironmentAlias string // name
}

// DecodeTermination accepts the member names of the HTTP contract's clients, and of a notification. Its error is an *InvalidError.
func DecodeTermination(body []byte) (*Termination, error) {
	r, err := newReader(body)
	if err != nil {
		return nil, err
	}
	d := &terminationDecoder{reader: r, t: &Termination{}}
	if err := r.object("a JSON object", d.member); err != nil {
		return nil, err
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	named := 0
	for _, value := range []string{d.t.DeploymentURL, d.t.EnvironmentID, d.t.EnvironmentAlias} {
		if value != "" {
			named++
		}
	}
	if named != 1 {
		return nil, &InvalidError{Reason: "must name the environment by exactly one of deploymentUrl, environmentId and environmentAlias"}
	}
	return d.t, nil
}

type terminationDecoder struct {
	*reader
	t *Termination
}

func (d *terminationDecoder) member(name string) error {
	switch name {
	case "deploymentUrl", "deployment_url":
		return d.checked(&d.t.DeploymentURL, httpURL)
	case "environmentId", "environment_id":
		return d.checked(&d.t.EnvironmentID, nameOfObject)
	case "environmentAlias", "environment_alias":
		return d.checked(&d.t.EnvironmentAlias, nameOfObject)
	default:
		return d.skip()
	}
}

func nameOfObject(value string) (string, string) {
	if !printable(value) {
		return "", "must be printable text"
	}
	return value, tooLong(value, MaxTextBytes)
}
