package inputpath_test

import (
	"path"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath/inputpathtest"
)

func TestBadUploads(t *testing.T) {
	if len(inputpathtest.BadUploads) < 40 {
		t.Fatalf("only %d bad paths", len(inputpathtest.BadUploads))
	}
	for name, p := range inputpathtest.BadUploads {
		t.Run(name, func(t *testing.T) {
			if err := inputpath.CheckUpload(p); err == nil {
				t.Errorf("CheckUpload(%q) accepts it", p)
			}
		})
	}
}

func TestGoodUploads(t *testing.T) {
	for name, p := range map[string]string{
		"Name":             "app.apk",
		"AndroidBundle":    "app.aab",
		"Debian":           "app.deb",
		"IPhone":           "app.ipa",
		"Zip":              "app.zip",
		"CSV":              "users.csv",
		"PDF":              "terms.pdf",
		"AnyCase":          "App.ApK",
		"Folders":          "builds/2026/11/app.apk",
		"Space":            "my app.apk",
		"Plus":             "a+b.apk",
		"Percent":          "100%.apk",
		"PercentEncoded":   "%2e%2e/app.apk",
		"Unicode":          "größe/アプリ.apk",
		"Emoji":            "👩\u200d🔬.apk",
		"Question":         "a?b.apk",
		"Hash":             "a#b.apk",
		"Ampersand":        "a&b=c.apk",
		"Quotes":           `"'.apk`,
		"Hidden":           ".hidden.apk",
		"ThreeDots":        ".../app.apk",
		"DotsInName":       "a..b.apk",
		"FolderLikeDots":   "..a/b../c.apk",
		"Colon":            "c:/app.apk",
		"ExtensionFolder":  "app.apk/inner.csv",
		"LikeReserved":     "postflight-runs2/app.apk",
		"ReservedAsName":   "postflight-runs.apk",
		"ReservedInside":   "x/postflight-runs/app.apk",
		"ReservedEncoded":  "postflight%2druns/app.apk", // an object key is not decoded
		"LongestInBytes":   strings.Repeat("a", 508) + ".apk",
		"LongestInFolders": strings.Repeat("abc/", 126) + "abc.apk",
	} {
		t.Run(name, func(t *testing.T) {
			if err := inputpath.CheckUpload(p); err != nil {
				t.Errorf("CheckUpload(%q): %v", p, err)
			}
		})
	}
}

func TestKeyNeedsATeam(t *testing.T) {
	for _, team := range []string{"", ".", "..", "a/b", "/", `a\b`} {
		if key, err := inputpath.Key(team, "app.apk"); err == nil {
			t.Errorf("Key(%q) is %q", team, key)
		}
	}
}

func TestResolve(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, value, want string
		bad                 bool
	}{
		"FileLocation":       {reason: "The team's id goes.", value: "demo/app.apk", want: "app.apk"},
		"PlaygroundLocation": {reason: "A path is a path.", value: "app.apk", want: "app.apk"},
		"Folder":             {reason: "Folders are kept.", value: "demo/a/b.apk", want: "a/b.apk"},
		"OwnIDTwice":         {reason: "Only the first segment is the team.", value: "demo/demo/app.apk", want: "demo/app.apk"},
		"OtherTeam":          {reason: "It is a folder of this team, where there is no such file.", value: "other/app.apk", want: "other/app.apk"},
		"LikeTheTeam":        {reason: "A prefix of a name is not the name.", value: "demo2/app.apk", want: "demo2/app.apk"},
		"OnlyTheTeam":        {reason: "The id alone names no file.", value: "demo/", bad: true},
		"Traversal":          {reason: "Out of the own prefix.", value: "demo/../other/app.apk", bad: true},
		"TraversalFirst":     {reason: "Out of the own prefix.", value: "../other/app.apk", bad: true},
		"Absolute":           {reason: "A path in the pod is no location.", value: "/etc/passwd", bad: true},
		"URL":                {reason: "A URL is no location.", value: "https://example.com/app.apk", bad: true},
		"Archive":            {reason: "What runs leave behind is no input.", value: "demo/postflight-runs/x.apk", bad: true},
		"ArchiveItself":      {reason: "What runs leave behind is no input.", value: "postflight-runs", bad: true},
		"ArchiveByPath":      {reason: "What runs leave behind is no input.", value: "postflight-runs/x.apk", bad: true},
		"ArchiveInOtherCase": {reason: "Some stores ignore the case.", value: "demo/POSTFLIGHT-runs/x.apk", bad: true},
		"ArchiveAfterDot":    {reason: "A dot is no segment.", value: "demo/./postflight-runs/x.apk", bad: true},
		"FolderLikeArchive":  {reason: "It is a folder in a folder of this team.", value: "demo/demo/postflight-runs/x.apk", want: "demo/postflight-runs/x.apk"},
		"ArchiveOfOtherTeam": {reason: "It is a folder in a folder of this team.", value: "other/postflight-runs/x.apk", want: "other/postflight-runs/x.apk"},
		"LongName":           {reason: "No file system takes it.", value: strings.Repeat("a", 256), bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := inputpath.Resolve("demo", tc.value)
			if got != tc.want || (err != nil) != tc.bad {
				t.Errorf("%s\nResolve(%q) = %q, %v; want %q, error %v", tc.reason, tc.value, got, err, tc.want, tc.bad)
			}
		})
	}
}

// FuzzKey: every key is below the prefix of the team, also for a store or a proxy that cleans paths, and never in the
// archive. Values resolve to such keys only.
func FuzzKey(f *testing.F) {
	for _, p := range inputpathtest.BadUploads {
		f.Add("demo", p)
	}
	f.Add("demo", "demo/app.apk")
	f.Add("..", "app.apk")
	f.Fuzz(func(t *testing.T, team, p string) {
		inside := func(key string) {
			prefix := team + "/"
			for _, clean := range []string{key, path.Clean(key), path.Clean("/bucket/" + key)[len("/bucket/"):]} {
				if !strings.HasPrefix(clean, prefix) || len(clean) <= len(prefix) {
					t.Fatalf("key %q of team %q leaves its prefix", key, team)
				}
			}
		}
		if key, err := inputpath.Key(team, p); err == nil {
			inside(key)
			if strings.HasPrefix(strings.ToLower(key), strings.ToLower(team)+"/postflight-runs/") {
				t.Fatalf("key %q is one of the archive", key)
			}
		}
		resolved, err := inputpath.Resolve(team, p)
		if err != nil {
			return
		}
		if key, err := inputpath.Key(team, resolved); err == nil {
			inside(key)
		}
	})
}
