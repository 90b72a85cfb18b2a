// Verify checks a proof file with nothing but the public key of the ledger, and prints the entry.
//
//	verify <public key> < entry.tlog-proof
package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	file, err := io.ReadAll(os.Stdin)
	if err == nil && len(os.Args) != 2 {
		err = errors.New("usage: verify <public key> < entry.tlog-proof")
	}
	var entry []byte
	if err == nil {
		entry, err = verify(string(file), os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdout.Write(entry)
}

func verify(file, publicKey string) ([]byte, error) {
	key, err := note.NewVerifier(publicKey)
	if err != nil {
		return nil, err
	}
	proof, checkpoint, found := strings.Cut(file, "\n\n")
	lines := strings.Split(proof, "\n")
	if !found || len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" ||
		!strings.HasPrefix(lines[1], "extra ") || !strings.HasPrefix(lines[2], "index ") {
		return nil, errors.New("this is no proof file with an entry")
	}
	entry, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(lines[1], "extra "))
	if err != nil {
		return nil, err
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64)
	if err != nil {
		return nil, err
	}
	var hashes tlog.RecordProof
	for _, line := range lines[3:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, hash)
	}

	// Who signed the checkpoint, and what it says: origin, size, root.
	signed, err := note.Open([]byte(checkpoint), note.VerifierList(key))
	if err != nil {
		return nil, err
	}
	says := strings.Split(signed.Text, "\n")
	if len(says) < 4 || says[0] != key.Name() {
		return nil, errors.New("this is no checkpoint of " + key.Name())
	}
	size, err := strconv.ParseInt(says[1], 10, 64)
	if err != nil {
		return nil, err
	}
	root, err := tlog.ParseHash(says[2])
	if err != nil {
		return nil, err
	}
	return entry, tlog.CheckRecord(hashes, size, root, index, tlog.RecordHash(entry))
}
