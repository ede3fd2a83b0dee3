// Go's own server, as server.mjs: PORT FOLDER IDLE_MS [CERT KEY].
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

type nth struct{}

var (
	mutex sync.Mutex
	taken = map[string]int{}
)

func raw(w http.ResponseWriter, text string, wait time.Duration) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	io.WriteString(connection, text)
	time.Sleep(wait)
	connection.Close()
}

// Whether the server goes on to answer; else it has closed the connection.
func closeByChance(w http.ResponseWriter, r *http.Request, body string) bool {
	count := r.Context().Value(nth{}).(*int)
	*count++
	chance := rand.Float64()
	answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	switch {
	case chance < 0.02 && *count > 1:
		raw(w, "", 0)
	case chance < 0.04:
		raw(w, answer, 0)
	case chance < 0.06:
		raw(w, answer, time.Duration(rand.Intn(5000))*time.Microsecond)
	default:
		if chance < 0.08 {
			w.Header().Set("Connection", "close")
		}
		return true
	}
	return false
}

func main() {
	port, folder := os.Args[1], os.Args[2]
	idle, _ := strconv.Atoi(os.Args[3])
	serve := func(w http.ResponseWriter, r *http.Request) {
		parts := append(strings.Split(r.URL.Path, "/"), "")
		kind, id := parts[1], parts[2]
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		flush := w.(http.Flusher).Flush
		switch kind {
		case "echo", "random":
			if r.Method == http.MethodPost {
				mutex.Lock()
				taken[id]++
				mutex.Unlock()
			}
			body := id + " " + string(sent)
			if kind == "echo" || closeByChance(w, r, body) {
				io.WriteString(w, body)
			}
		case "taken":
			mutex.Lock()
			defer mutex.Unlock()
			json.NewEncoder(w).Encode(taken)
		case "plain":
			io.WriteString(w, "plain")
		case "chunked":
			for _, piece := range []string{"one ", "two ", "three"} {
				io.WriteString(w, piece)
				flush()
			}
		case "trailers":
			w.Header().Set("Trailer", "X-Sum")
			io.WriteString(w, "one ")
			flush()
			io.WriteString(w, "two")
			w.Header().Set("X-Sum", "1")
		case "interim":
			w.WriteHeader(http.StatusProcessing)
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			time.Sleep(20 * time.Millisecond)
			io.WriteString(w, "at last")
		case "close":
			w.Header().Set("Connection", "close")
			io.WriteString(w, "the last one")
		case "old":
			raw(w, "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end", 0)
		case "unchanged":
			w.Header().Set("Content-Length", "7")
			w.WriteHeader(http.StatusNotModified)
		case "nothing":
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Encoding", kind)
			http.ServeFile(w, r, filepath.Join(folder, kind))
		}
	}
	server := &http.Server{
		Addr:        "127.0.0.1:" + port,
		Handler:     http.HandlerFunc(serve),
		IdleTimeout: time.Duration(idle) * time.Millisecond,
		ConnContext: func(c context.Context, _ net.Conn) context.Context {
			return context.WithValue(c, nth{}, new(int))
		},
	}
	if len(os.Args) > 5 {
		panic(server.ListenAndServeTLS(os.Args[4], os.Args[5]))
	}
	panic(server.ListenAndServe())
}
