package httpapi

// CollectRequest is what the collector in a pod asks for. It sends the files first, in one request or several, and the
// size of its results document when they are uploaded.
type CollectRequest struct {
	Files        []CollectFile `json:"files,omitempty"`        // to upload; at most 1,000
	ResultsBytes int64         `json:"resultsBytes,omitempty"` // of the results document; 0: none is uploaded yet
	TestsBytes   int64         `json:"testsBytes,omitempty"`   // of the log of all tests, with resultsBytes; 0: there are no tests
}

// CollectFile is a file that the tests wrote.
type CollectFile struct {
	Path  string `json:"path"` // below the results directory, with slashes
	Bytes int64  `json:"bytes"`
}

// CollectAnswer says where to upload to. A PUT sends exactly the requested number of bytes, as
// application/octet-stream.
type CollectAnswer struct {
	Run      string           `json:"run"`                // the id of the run
	Files    []CollectURL     `json:"files,omitempty"`    // one per requested file, in the same order
	Results  *CollectURL      `json:"results,omitempty"`  // of the results document, if its size was sent
	Tests    *CollectURL      `json:"tests,omitempty"`    // of the log of all tests, if its size was sent; earlier versions do not know it
	Previous *PreviousResults `json:"previous,omitempty"` // absent if there is none, and if resultsBytes was sent
}

// CollectURL is where to PUT a file, or why there is no such place.
type CollectURL struct {
	Path    string `json:"path,omitempty"`    // of the file; absent for the results document
	URL     string `json:"url,omitempty"`     // a secret while it is valid
	Problem string `json:"problem,omitempty"` // a sentence: why the file is not kept
}

// PreviousResults are those of the run to compare with.
type PreviousResults struct {
	Run  string   `json:"run"`
	URLs []string `json:"urls"` // to GET the results documents of its pods from
}
