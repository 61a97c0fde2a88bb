package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"bulkload/internal/test/sample"
)

// rowOf is a row of the check table as a look-up gives it, and its fields.
func rowOf(id, key string) (row map[string]string, fields []string) {
	row = map[string]string{}
	for _, name := range sample.CheckColumns {
		row[name] = "of " + key
	}
	row["id"] = id
	for _, name := range sample.CheckColumns {
		fields = append(fields, row[name])
	}
	return row, fields
}

// TestAttack: failed requests and answers without exactly the rows are counted. A look-up of all salts asks for each.
func TestAttack(t *testing.T) {
	first, a := rowOf("1", "k")
	second, b := rowOf("2", "k")
	var spoilt atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rows := []map[string]string{}
		if salt := r.FormValue("salt"); salt == "" || salt == "3" {
			rows = append(rows, first)
		}
		if salt := r.FormValue("salt"); (salt == "" || salt == "7") && (!spoilt.Load() || r.FormValue("key") != "lost") {
			rows = append(rows, second)
		}
		if spoilt.Load() && r.FormValue("key") == "down" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"rows": rows, "next": nil})
	}))
	defer server.Close()
	for _, more := range []string{"", "&salt=" + anySalt} {
		spoilt.Store(false)
		l := newLookup("test", nil, func(key string) string { return server.URL + "/?key=" + key + more }, served)
		keys := []string{"whole", "lost", "down"}
		wanted := map[string][][]string{}
		for _, key := range keys {
			wanted[key] = [][]string{a, b}
		}
		if err := l.learn(t.Context(), wanted, keys); err != nil {
			t.Fatal(err)
		}
		if o := l.attack(t.Context(), attack{keys: keys, once: true, clients: 2}); o.Requests != 3 || o.StatusCodes["200"] != 3 || o.wrong != 0 {
			t.Errorf("%+v", o)
		}
		spoilt.Store(true)
		o := l.attack(t.Context(), attack{keys: keys, once: true, clients: 2})
		if o.Requests != 3 || o.StatusCodes["200"] != 2 || o.StatusCodes["503"] != 1 || o.wrong != 1 || o.lastFailed.IsZero() {
			t.Errorf("with a lost row and a failure: %+v", o)
		}
		wanted["whole"] = [][]string{a}
		if err := l.learn(t.Context(), wanted, keys[:1]); err == nil {
			t.Error("learned an answer with a row too many")
		}
	}
}

func TestRested(t *testing.T) {
	coded := base64.StdEncoding.EncodeToString
	rows, err := rested(fmt.Appendf(nil, `{"Row":[{"key":"%s","Cell":[{"column":"%s","timestamp":1,"$":"%s"},{"column":"%s","timestamp":1,"$":""}]}]}`,
		coded([]byte("row")), coded([]byte("f:id")), coded([]byte("7")), coded([]byte("f:city"))))
	if err != nil || !slices.EqualFunc(rows, []map[string]string{{"id": "7", "city": ""}}, func(a, b map[string]string) bool {
		return len(a) == len(b) && a["id"] == b["id"] && a["city"] == b["city"]
	}) {
		t.Errorf("%v, %v", rows, err)
	}
}
