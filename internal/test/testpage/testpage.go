// Package testpage looks at HTML pages in a real browser, for tests.
package testpage

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testcluster/apt"
)

// browser finds a headless browser, or installs Debian's where a test may. Without one the test is skipped with a loud
// message, or fails if CI=true.
func browser(t *testing.T) string {
	t.Helper()
	find := func() string {
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
		return ""
	}
	path := find()
	if path == "" {
		err := apt.Install("chromium")
		if path = find(); path == "" {
			testcluster.Without(t, fmt.Sprintf("needs chromium, to look at the page: apt-get install chromium (%v)", err))
		}
	}
	return path
}

func browse(t *testing.T, page string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser(t), append(append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--user-data-dir=" + t.TempDir(), "--window-size=1000,3600"}, args...), "file://"+page)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, &errs)
	}
	return out.String()
}

// DOM is a page as the browser has parsed it, after running its scripts, if it had any.
func DOM(t *testing.T, page string) string { return browse(t, page, "--dump-dom") }

// modes has the colours of the page's paper and of its first bars.
var modes = map[string]struct {
	setting     string
	paper, bars uint32
}{"light": {"1", 0xffffff, 0x2f6fb0}, "dark": {"0", 0x14181f, 0x6aa7e6}}

// CheckDrawn fails the test unless the browser draws a page in light and in dark, with its bars in their colours, and
// prints it.
func CheckDrawn(t *testing.T, page string) {
	t.Helper()
	for mode, c := range modes {
		shot := filepath.Join(t.TempDir(), mode+".png")
		browse(t, page, "--blink-settings=preferredColorScheme="+c.setting, "--screenshot="+shot)
		drawn := colours(t, shot)
		if all := 1000 * 3600; drawn[c.paper] < all/3 || drawn[c.bars] < 10_000 {
			t.Errorf("%s: %d of %d pixels are paper, %d are bars", mode, drawn[c.paper], all, drawn[c.bars])
		}
	}
	pdf := filepath.Join(t.TempDir(), "page.pdf")
	browse(t, page, "--print-to-pdf="+pdf)
	if text, err := os.ReadFile(pdf); err != nil || !bytes.HasPrefix(text, []byte("%PDF")) || len(text) < 20_000 {
		t.Errorf("on paper: %d bytes, %v", len(text), err)
	}
}

// colours counts a picture's pixels by their colour.
func colours(t *testing.T, name string) map[uint32]int {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[uint32]int{}
	for at := range pixels(picture.Bounds()) {
		r, g, b, _ := picture.At(at.X, at.Y).RGBA()
		counts[r>>8<<16|g>>8<<8|b>>8]++
	}
	return counts
}

func pixels(r image.Rectangle) func(func(image.Point) bool) {
	return func(yield func(image.Point) bool) {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				if !yield(image.Pt(x, y)) {
					return
				}
			}
		}
	}
}

var outside = regexp.MustCompile(`(?i)<script|<link|<img|<iframe|<object|<embed|@import|url\(|https?:|src=|\son[a-z]+=`)

// CheckSelfContained fails the test if a page has a script, or refers to anything outside itself.
func CheckSelfContained(t *testing.T, text []byte) {
	t.Helper()
	if found := outside.FindAll(text, 5); len(found) > 0 {
		t.Errorf("the page refers to %q", found)
	}
}

// Shown is a page of a server as the browser shows it some seconds later.
func Shown(t *testing.T, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser(t), "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--virtual-time-budget=10000", "--dump-dom", url)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, &errs)
	}
	return out.String()
}
