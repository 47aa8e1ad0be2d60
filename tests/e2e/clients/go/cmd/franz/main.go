// The franz-go client of the end-to-end tests.
package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"pelton/tests/e2e/clients/go/jobs"
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func main() {
	jobs.Serve(map[string]jobs.Operation{"create": create, "write": write, "read": read})
}

func create(ctx context.Context, bootstrap string, j jobs.Job) int {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	jobs.Check(err)
	defer client.Close()
	answer, err := kadm.NewClient(client).CreateTopic(ctx, j.Partitions, 1, nil, j.Topic)
	jobs.Check(err)
	jobs.Check(answer.Err)
	return 0
}

func write(ctx context.Context, bootstrap string, j jobs.Job) int {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codecs[j.Codec]))
	jobs.Check(err)
	defer client.Close()
	var records []*kgo.Record
	for _, r := range jobs.Load(j) {
		out := &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value,
			Timestamp: r.Time}
		for _, header := range r.Headers {
			out.Headers = append(out.Headers, kgo.RecordHeader{Key: header.Name, Value: header.Value})
		}
		records = append(records, out)
	}
	jobs.Check(client.ProduceSync(ctx, records...).FirstErr())
	return len(records)
}

// read takes count records in a group, waits for a record too many, commits what it took and leaves.
func read(ctx context.Context, bootstrap string, j jobs.Job) int {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup(j.Group),
		kgo.ConsumeTopics(j.Topics...), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	jobs.Check(err)
	var taken []*kgo.Record
	for len(taken) < j.Count {
		fetches := client.PollRecords(ctx, j.Count-len(taken))
		jobs.Check(fetches.Err())
		taken = append(taken, fetches.Records()...)
	}
	if j.ExtraMs > 0 {
		extra, cancel := context.WithTimeout(ctx, j.Extra())
		taken = append(taken, client.PollRecords(extra, 1).Records()...)
		cancel()
	}
	jobs.Check(client.CommitRecords(ctx, taken...))
	client.LeaveGroup()
	client.Close()
	var records []jobs.Record
	for _, r := range taken {
		out := jobs.Record{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Key: r.Key,
			Value: r.Value, Time: r.Timestamp}
		for _, header := range r.Headers {
			out.Headers = append(out.Headers, jobs.Header{Name: header.Key, Value: header.Value})
		}
		records = append(records, out)
	}
	jobs.Dump(j, records)
	return len(taken)
}
