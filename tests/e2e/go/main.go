// The franz-go client of the end-to-end tests: runs the jobs it reads from standard input, one JSON
// object a line, and prints one JSON object a job. The other clients understand the same jobs.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// job is one line of input. Which fields count depends on Op: create, write or read.
type job struct {
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

// record is one line of a dump: bytes in hexadecimal, null for an absent key, value or header value.
type record struct {
	Topic     string       `json:"topic"`
	Partition int32        `json:"p"`
	Offset    int64        `json:"o"`
	Key       *string      `json:"k"`
	Value     *string      `json:"v"`
	Headers   [][2]*string `json:"h"`
	Timestamp int64        `json:"t"`
}

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func main() {
	bootstrap := os.Args[1]
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var j job
		check(json.Unmarshal(lines.Bytes(), &j))
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		done := 0
		switch j.Op {
		case "create":
			create(ctx, bootstrap, j)
		case "write":
			done = write(ctx, bootstrap, j)
		case "read":
			done = read(ctx, bootstrap, j)
		default:
			check(fmt.Errorf("unknown op %q", j.Op))
		}
		cancel()
		fmt.Printf("{\"op\":%q,\"done\":%d}\n", j.Op, done)
	}
	check(lines.Err())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "franz-go:", err)
		os.Exit(1)
	}
}

func create(ctx context.Context, bootstrap string, j job) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	check(err)
	defer client.Close()
	answer, err := kadm.NewClient(client).CreateTopic(ctx, j.Partitions, 1, nil, j.Topic)
	check(err)
	check(answer.Err)
}

func write(ctx context.Context, bootstrap string, j job) int {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codecs[j.Codec]))
	check(err)
	defer client.Close()
	file, err := os.Open(j.File)
	check(err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	var records []*kgo.Record
	for lines.Scan() {
		var r record
		check(json.Unmarshal(lines.Bytes(), &r))
		out := &kgo.Record{Topic: j.Topic, Partition: r.Partition, Key: fromHex(r.Key),
			Value: fromHex(r.Value), Timestamp: time.UnixMilli(r.Timestamp)}
		for _, header := range r.Headers {
			out.Headers = append(out.Headers, kgo.RecordHeader{Key: *header[0], Value: fromHex(header[1])})
		}
		records = append(records, out)
	}
	check(lines.Err())
	check(client.ProduceSync(ctx, records...).FirstErr())
	return len(records)
}

// read takes count records in a group, commits exactly those and leaves. Then it waits extra_ms for a
// record too many and counts it too.
func read(ctx context.Context, bootstrap string, j job) int {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup(j.Group),
		kgo.ConsumeTopics(j.Topics...), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	check(err)
	file, err := os.Create(j.File)
	check(err)
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	var taken []*kgo.Record
	for len(taken) < j.Count {
		fetches := client.PollRecords(ctx, j.Count-len(taken))
		check(fetches.Err())
		taken = append(taken, fetches.Records()...)
	}
	if j.ExtraMs > 0 {
		extra, cancel := context.WithTimeout(ctx, time.Duration(j.ExtraMs)*time.Millisecond)
		taken = append(taken, client.PollRecords(extra, 1).Records()...)
		cancel()
	}
	for _, r := range taken {
		line := record{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Key: toHex(r.Key),
			Value: toHex(r.Value), Timestamp: r.Timestamp.UnixMilli(), Headers: [][2]*string{}}
		for _, header := range r.Headers {
			name := header.Key
			line.Headers = append(line.Headers, [2]*string{&name, toHex(header.Value)})
		}
		check(encoder.Encode(line))
	}
	check(client.CommitRecords(ctx, taken...))
	client.LeaveGroup()
	client.Close()
	check(out.Flush())
	check(file.Close())
	return len(taken)
}

func fromHex(text *string) []byte {
	if text == nil {
		return nil
	}
	data, err := hex.DecodeString(*text)
	check(err)
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
