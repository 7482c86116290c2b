package attestation

const (
	maxNames     = 1000      // bounds each list of tests: as many failures as the results document of a pod has
	maxNameBytes = 128 << 10 // bounds the names of a list. Policy engines read a Statement into memory; Kyverno's has 2 MiB for all of them
	maxName      = 512       // bounds a name, in bytes, as the status of a Suite does
	maxText      = 512       // bounds other text, in bytes, as much as a line can show

	// MaxPayload bounds a Statement that is read, in bytes: three lists, whose control characters JSON writes with six bytes, and 801
	// subjects of 512 bytes.
	MaxPayload = 4 << 20

	// MaxBundle bounds a signed Statement, which is in base64.
	MaxBundle = 6 << 20
)
