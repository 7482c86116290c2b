// Package source checks the text of the repository: what comments and pages name exists, packages keep to their layers, every limit is
// documented, and the files of GitHub and of the gate are complete.
package source

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the folder of the repository, to which paths are relative.
const root = "../.."

// code is the repository, in which names are looked up.
type code struct {
	pages    []string                   // every Markdown file
	files    map[string]*ast.File       // every Go file that is not generated
	names    map[string]bool            // of all Go files, without their folders
	exported map[string]map[string]bool // what a package declares, by its name
	words    map[string]bool            // of code, manifests and scripts, but not of comments in Go
	targets  map[string]bool            // of the Makefile
	tests    map[string]bool            // and fuzz targets
}

// made are folders that a clone does not have.
var made = []string{".git", "bin", "dist", "node_modules", ".dev", ".test"}

// readCode is read once, and must not be changed.
func readCode(t *testing.T) *code {
	t.Helper()
	c, err := theCode()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var theCode = sync.OnceValues(func() (*code, error) {
	c := &code{
		files: map[string]*ast.File{}, names: map[string]bool{}, exported: map[string]map[string]bool{}, words: map[string]bool{},
		targets: map[string]bool{}, tests: map[string]bool{},
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains(made, d.Name()) {
			return cmp.Or(err, filepath.SkipDir)
		}
		if d.IsDir() {
			return nil
		}
		path, err = filepath.Rel(root, path)
		return cmp.Or(err, c.add(path))
	})
	if err != nil {
		return nil, err
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(makefile), -1) {
		c.targets[m[1]] = true
	}
	return c, err
})

func (c *code) add(path string) error {
	switch filepath.Ext(path) {
	case ".md":
		c.pages = append(c.pages, path)
	case ".go":
		c.names[filepath.Base(path)] = true
		return c.parse(path)
	case ".yaml", ".yml", ".sh", ".mjs":
		text, err := os.ReadFile(filepath.Join(root, path))
		c.addWords(string(text))
		return err
	}
	return nil
}

var identifier = regexp.MustCompile(`\w+`)

func (c *code) addWords(text string) {
	for _, word := range identifier.FindAllString(text, -1) {
		c.words[word] = true
	}
}

// parse does not collect the names of main packages and of tests: nothing else can refer to them.
func (c *code) parse(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ParseComments)
	if err != nil {
		return err
	}
	if !ast.IsGenerated(file) {
		c.files[path] = file
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CommentGroup:
			return false
		case *ast.Ident:
			c.words[n.Name] = true
		case *ast.BasicLit:
			c.addWords(n.Value)
		}
		return true
	})
	if strings.HasSuffix(path, "_test.go") {
		c.addTests(file)
	} else if name := file.Name.Name; name != "main" {
		if c.exported[name] == nil {
			c.exported[name] = map[string]bool{}
		}
		for _, declaration := range file.Decls {
			maps.Copy(c.exported[name], declared(declaration))
		}
	}
	return nil
}

func (c *code) addTests(file *ast.File) {
	for _, declaration := range file.Decls {
		for name := range declared(declaration) {
			if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") {
				c.tests[name] = true
			}
		}
	}
}

func declared(declaration ast.Decl) map[string]bool {
	names := map[string]bool{}
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		names[d.Name.Name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names[s.Name.Name] = true
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names[name.Name] = true
				}
			}
		}
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	qualified = regexp.MustCompile(`^([a-z0-9]+)\.([A-Z]\w*)`)
	goFile    = regexp.MustCompile(`^[\w.]+\.go$`)
	hostName  = regexp.MustCompile(`^\w+\.\w`)
	unusual   = regexp.MustCompile(`[^\w./*-]`)
)

// exists reports whether a word names something that exists, or nothing of this repository: a declaration of a
// package, a Go file by its name alone, or a path as seen from the root or from the folder.
func (c *code) exists(folder, name string) bool {
	if m := qualified.FindStringSubmatch(name); m != nil && c.exported[m[1]] != nil {
		return c.exported[m[1]][m[2]]
	}
	if goFile.MatchString(name) {
		return c.names[name]
	}
	first, _, isPath := strings.Cut(name, "/")
	if !isPath || first == "" || unusual.MatchString(name) || slices.Contains(made, first) || hostName.MatchString(first) {
		return true
	}
	if info, err := os.Stat(filepath.Join(root, first)); (err != nil || !info.IsDir()) && filepath.Ext(name) != ".go" {
		return true
	}
	for _, base := range []string{".", folder} {
		if found, _ := filepath.Glob(filepath.Join(root, base, name)); len(found) > 0 {
			return true
		}
	}
	return false
}
