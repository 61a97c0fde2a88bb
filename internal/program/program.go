// Package program identifies the running program.
package program

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"
)

// Hash is the hash of the executable, in hex.
var Hash = sync.OnceValues(func() (string, error) {
	f, err := os.Open("/proc/self/exe") // still this program after a new one was installed
	if err != nil {
		return "", fmt.Errorf("identify this program: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
})
