package notification

import "testing"

func TestSmoke(t *testing.T) {
	for _, b := range []string{`{}`, `null`, `[]`, ``, `{"a":[[{"x":{"a":1,"a":2}}]]}`, `{"sha":" ABCDEF0123456789abcdef0123456789abcdef01 ","variables":{"A":"b","N":null},"repository":{"owner":"acme","name":"shop"},"pull_request_number":12}`,
		`{"variables":{"FOO":1}}`, `{"repository":{"owner":[]}}`, `{"variables":{"FOO":"a","FOO":"b"}}`, `{} x`, `{"a":"\ud800"}`, `{"a":"`, `{"a" 1}`, `{"variables":{"F OO":"a"}}`, `{"pull_request_number":1.5}`, `{"deployment_url":"https://u:p@h/"}`, `{"x":nul}`, `{"x":1,}`, `{"ephemeral_environment":true}`} {
		n, err := Decode([]byte(b))
		t.Logf("%s\n\t%+v\n\t%v", b, n, err)
	}
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"branch":"main","sha":"0123456789abcdef0123456789abcdef01234567","deployment_type":"staging","deployment_url":"https://staging.example.com","hosting_service":"GitHub","commit_url":null,"variables":{"GREP":"@smoke","REGION":"eu"},"deduplication_key":null,"ephemeral_environment":false,"repository":{"owner":"acme","name":"shop"},"pull_request_number":12}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
