// The segmentio kafka-go client of the end-to-end tests.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"

	"pelton/tests/e2e/clients/go/jobs"
)

var codecs = map[string]kafka.Compression{
	"none":   0,
	"gzip":   kafka.Gzip,
	"snappy": kafka.Snappy,
	"lz4":    kafka.Lz4,
	"zstd":   kafka.Zstd,
}

func main() {
	jobs.Serve(map[string]jobs.Operation{"create": create, "write": write, "read": read})
}

func create(ctx context.Context, bootstrap string, j jobs.Job) int {
	client := &kafka.Client{Addr: kafka.TCP(bootstrap)}
	answer, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{
		{Topic: j.Topic, NumPartitions: int(j.Partitions), ReplicationFactor: 1}}})
	jobs.Check(err)
	jobs.Check(answer.Errors[j.Topic])
	return 0
}

// byPartition sends each message where the record says.
func byPartition(message kafka.Message, _ ...int) int { return message.WriterData.(int) }

func write(ctx context.Context, bootstrap string, j jobs.Job) int {
	writer := &kafka.Writer{Addr: kafka.TCP(bootstrap), Topic: j.Topic, RequiredAcks: kafka.RequireAll,
		Balancer: kafka.BalancerFunc(byPartition), Compression: codecs[j.Codec],
		BatchTimeout: 5 * time.Millisecond}
	var messages []kafka.Message
	for _, r := range jobs.Load(j) {
		message := kafka.Message{WriterData: int(r.Partition), Key: r.Key, Value: r.Value, Time: r.Time}
		for _, header := range r.Headers {
			message.Headers = append(message.Headers, kafka.Header{Key: header.Name, Value: header.Value})
		}
		messages = append(messages, message)
	}
	jobs.Check(writer.WriteMessages(ctx, messages...))
	jobs.Check(writer.Close())
	return len(messages)
}

// read takes count records in a group, commits exactly those, waits for a record too many and leaves.
func read(ctx context.Context, bootstrap string, j jobs.Job) int {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{bootstrap}, GroupID: j.Group,
		GroupTopics: j.Topics, StartOffset: kafka.FirstOffset, MaxWait: 100 * time.Millisecond})
	var taken []kafka.Message
	for len(taken) < j.Count {
		message, err := reader.FetchMessage(ctx)
		jobs.Check(err)
		taken = append(taken, message)
	}
	jobs.Check(reader.CommitMessages(ctx, taken...))
	if j.ExtraMs > 0 {
		extra, cancel := context.WithTimeout(ctx, j.Extra())
		message, err := reader.FetchMessage(extra)
		if err == nil {
			taken = append(taken, message)
		} else if !errors.Is(err, context.DeadlineExceeded) {
			jobs.Check(err)
		}
		cancel()
	}
	jobs.Check(reader.Close())
	var records []jobs.Record
	for _, m := range taken {
		out := jobs.Record{Topic: m.Topic, Partition: int32(m.Partition), Offset: m.Offset, Key: m.Key,
			Value: m.Value, Time: m.Time}
		for _, header := range m.Headers {
			out.Headers = append(out.Headers, jobs.Header{Name: header.Key, Value: header.Value})
		}
		records = append(records, out)
	}
	jobs.Dump(j, records)
	return len(records)
}
