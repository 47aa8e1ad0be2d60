// Package jobs is what the Go clients of the end-to-end tests share: they run the jobs that they read
// from standard input, one JSON object a line, and print one JSON object a job.
package jobs

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

const limit = 60 * time.Second

// Job is one line of input. Which fields count depends on Op: create, write or read.
type Job struct {
	Op         string   `json:"op"`
	Topic      string   `json:"topic"`
	Partitions int32    `json:"partitions"`
	Codec      string   `json:"codec"`
	File       string   `json:"file"`
	Topics     []string `json:"topics"`
	Group      string   `json:"group"`
	Count      int      `json:"count"`
	ExtraMs    int      `json:"extra_ms"`
}

// Extra is how long a read waits for a record too many.
func (j Job) Extra() time.Duration { return time.Duration(j.ExtraMs) * time.Millisecond }

// Header values may be nil.
type Header struct {
	Name  string
	Value []byte
}

// Record is what all clients can say of a record. Key and Value may be nil.
type Record struct {
	Topic     string
	Partition int32
	Offset    int64
	Key       []byte
	Value     []byte
	Headers   []Header
	Time      time.Time
}

// line is a record in a file: bytes in hexadecimal, null for an absent key, value or header value.
type line struct {
	Topic     string       `json:"topic"`
	Partition int32        `json:"p"`
	Offset    int64        `json:"o"`
	Key       *string      `json:"k"`
	Value     *string      `json:"v"`
	Headers   [][2]*string `json:"h"`
	Timestamp int64        `json:"t"`
}

// Operation runs one job and returns its count.
type Operation func(ctx context.Context, bootstrap string, j Job) int

// Serve runs the jobs of standard input by their Op.
func Serve(operations map[string]Operation) {
	bootstrap := os.Args[1]
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var j Job
		Check(json.Unmarshal(lines.Bytes(), &j))
		operation, known := operations[j.Op]
		if !known {
			Check(fmt.Errorf("unknown op %q", j.Op))
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		done := operation(ctx, bootstrap, j)
		cancel()
		fmt.Printf("{\"op\":%q,\"done\":%d}\n", j.Op, done)
	}
	Check(lines.Err())
}

// Check ends the program on an error.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Load reads the records of a write job.
func Load(j Job) []Record {
	file, err := os.Open(j.File)
	Check(err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	var records []Record
	for lines.Scan() {
		var l line
		Check(json.Unmarshal(lines.Bytes(), &l))
		r := Record{Topic: j.Topic, Partition: l.Partition, Key: fromHex(l.Key), Value: fromHex(l.Value),
			Time: time.UnixMilli(l.Timestamp)}
		for _, header := range l.Headers {
			r.Headers = append(r.Headers, Header{*header[0], fromHex(header[1])})
		}
		records = append(records, r)
	}
	Check(lines.Err())
	return records
}

// Dump writes the records of a read job.
func Dump(j Job, records []Record) {
	file, err := os.Create(j.File)
	Check(err)
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	for _, r := range records {
		l := line{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Key: toHex(r.Key),
			Value: toHex(r.Value), Timestamp: r.Time.UnixMilli(), Headers: [][2]*string{}}
		for _, header := range r.Headers {
			name := header.Name
			l.Headers = append(l.Headers, [2]*string{&name, toHex(header.Value)})
		}
		Check(encoder.Encode(l))
	}
	Check(out.Flush())
	Check(file.Close())
}

func fromHex(text *string) []byte {
	if text == nil {
		return nil
	}
	data, err := hex.DecodeString(*text)
	Check(err)
	if data == nil {
		return []byte{}
	}
	return data
}

func toHex(data []byte) *string {
	if data == nil {
		return nil
	}
	text := hex.EncodeToString(data)
	return &text
}
