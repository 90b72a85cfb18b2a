// Peer answers questions about notes and trees, one a line, with golang.org/x/mod/sumdb. What has many lines is in base64.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	questions := bufio.NewScanner(os.Stdin)
	questions.Buffer(nil, 1<<24)
	for questions.Scan() {
		answer, err := answer(strings.Split(questions.Text(), " "))
		if err != nil {
			fmt.Printf("no %q\n", err.Error())
		} else {
			fmt.Printf("ok%s\n", answer)
		}
	}
}

// The hashes of a tree of our own.
var stored []tlog.Hash
var records int64

var reader = tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
	var hashes []tlog.Hash
	for _, index := range indexes {
		hashes = append(hashes, stored[index])
	}
	return hashes, nil
})

func answer(words []string) (string, error) {
	switch {
	case words[0] == "open" && len(words) == 3: // public key, note: the text
		key, err := note.NewVerifier(words[1])
		if err != nil {
			return "", err
		}
		message, err := base64.StdEncoding.DecodeString(words[2])
		if err != nil {
			return "", err
		}
		opened, err := note.Open(message, note.VerifierList(key))
		if err != nil {
			return "", err
		}
		return " " + base64.StdEncoding.EncodeToString([]byte(opened.Text)), nil
	case words[0] == "sign" && len(words) == 3: // name, text: the public key, the note
		secret, public, err := note.GenerateKey(rand.Reader, words[1])
		if err != nil {
			return "", err
		}
		signer, err := note.NewSigner(secret)
		if err != nil {
			return "", err
		}
		text, err := base64.StdEncoding.DecodeString(words[2])
		if err != nil {
			return "", err
		}
		message, err := note.Sign(&note.Note{Text: string(text)}, signer)
		return " " + public + " " + base64.StdEncoding.EncodeToString(message), err
	case words[0] == "record" && len(words) >= 5: // size, root, index, leaf, proof
		size, root, index, leaf, proof, err := parse(words[1:])
		if err != nil {
			return "", err
		}
		return "", tlog.CheckRecord(tlog.RecordProof(proof), size, root, index, leaf)
	case words[0] == "tree" && len(words) >= 5: // new size, new root, old size, old root, proof
		size, root, old, oldRoot, proof, err := parse(words[1:])
		if err != nil {
			return "", err
		}
		return "", tlog.CheckTree(tlog.TreeProof(proof), size, root, old, oldRoot)
	case words[0] == "grow" && len(words) == 2: // size: the root
		size, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return "", err
		}
		for ; records < size; records++ {
			hashes, err := tlog.StoredHashes(records, []byte(fmt.Sprintf("entry %d", records)), reader)
			if err != nil {
				return "", err
			}
			stored = append(stored, hashes...)
		}
		root, err := tlog.TreeHash(size, reader)
		return " " + root.String(), err
	case words[0] == "prove-record" && len(words) == 3: // size, index: the proof
		size, index, err := parseTwo(words[1:])
		if err != nil {
			return "", err
		}
		proof, err := tlog.ProveRecord(size, index, reader)
		return format(proof), err
	case words[0] == "prove-tree" && len(words) == 3: // new size, old size: the proof
		size, old, err := parseTwo(words[1:])
		if err != nil {
			return "", err
		}
		proof, err := tlog.ProveTree(size, old, reader)
		return format(proof), err
	}
	return "", errors.New("what?")
}

func parse(words []string) (n int64, nHash tlog.Hash, m int64, mHash tlog.Hash, proof []tlog.Hash, err error) {
	n, m, err = parseTwo([]string{words[0], words[2]})
	for position, word := range words {
		var hash tlog.Hash
		if position == 0 || position == 2 || err != nil {
			continue
		}
		hash, err = tlog.ParseHash(word)
		switch position {
		case 1:
			nHash = hash
		case 3:
			mHash = hash
		default:
			proof = append(proof, hash)
		}
	}
	return
}

func parseTwo(words []string) (first, second int64, err error) {
	first, err = strconv.ParseInt(words[0], 10, 64)
	if err == nil {
		second, err = strconv.ParseInt(words[1], 10, 64)
	}
	return
}

func format(hashes []tlog.Hash) string {
	var text strings.Builder
	for _, hash := range hashes {
		text.WriteString(" " + hash.String())
	}
	return text.String()
}
