// The sarama client of the end-to-end tests, at the highest version it knows.
package main

import (
	"context"
	"time"

	"github.com/IBM/sarama"

	"pelton/tests/e2e/clients/go/jobs"
)

var codecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

func main() {
	jobs.Serve(map[string]jobs.Operation{"create": create, "write": write, "read": read})
}

func config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	return c
}

func create(_ context.Context, bootstrap string, j jobs.Job) int {
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, config())
	jobs.Check(err)
	defer admin.Close()
	detail := &sarama.TopicDetail{NumPartitions: j.Partitions, ReplicationFactor: 1}
	jobs.Check(admin.CreateTopic(j.Topic, detail, false))
	return 0
}

func write(_ context.Context, bootstrap string, j jobs.Job) int {
	c := config()
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Compression = codecs[j.Codec]
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Return.Successes = true
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, c)
	jobs.Check(err)
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for _, r := range jobs.Load(j) {
		message := &sarama.ProducerMessage{Topic: r.Topic, Partition: r.Partition, Timestamp: r.Time}
		if r.Key != nil {
			message.Key = sarama.ByteEncoder(r.Key)
		}
		if r.Value != nil {
			message.Value = sarama.ByteEncoder(r.Value)
		}
		for _, header := range r.Headers {
			message.Headers = append(message.Headers,
				sarama.RecordHeader{Key: []byte(header.Name), Value: header.Value})
		}
		messages = append(messages, message)
	}
	jobs.Check(producer.SendMessages(messages))
	return len(messages)
}

// taker collects what the group's claims deliver until there are as many as wanted, and one too many
// until the end of the extra time.
type taker struct {
	j       jobs.Job
	records chan *sarama.ConsumerMessage
	taken   []*sarama.ConsumerMessage
	left    context.CancelFunc
}

func (t *taker) Setup(session sarama.ConsumerGroupSession) error {
	go t.collect(session)
	return nil
}

func (t *taker) collect(session sarama.ConsumerGroupSession) {
	defer t.left()
	for len(t.taken) < t.j.Count {
		select {
		case message := <-t.records:
			t.taken = append(t.taken, message)
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return
		}
	}
	session.Commit()
	if t.j.ExtraMs > 0 {
		select {
		case message := <-t.records:
			t.taken = append(t.taken, message)
		case <-time.After(t.j.Extra()):
		}
	}
}

func (t *taker) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (t *taker) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		select {
		case t.records <- message:
		case <-session.Context().Done():
			return nil
		}
	}
	return nil
}

// read takes count records in a group, commits exactly those, waits for a record too many and leaves.
func read(ctx context.Context, bootstrap string, j jobs.Job) int {
	c := config()
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	group, err := sarama.NewConsumerGroup([]string{bootstrap}, j.Group, c)
	jobs.Check(err)
	session, left := context.WithCancel(ctx)
	t := &taker{j: j, records: make(chan *sarama.ConsumerMessage), left: left}
	jobs.Check(group.Consume(session, j.Topics, t))
	jobs.Check(group.Close())
	jobs.Check(ctx.Err())
	var records []jobs.Record
	for _, m := range t.taken {
		out := jobs.Record{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset, Key: m.Key,
			Value: m.Value, Time: m.Timestamp}
		for _, header := range m.Headers {
			out.Headers = append(out.Headers, jobs.Header{Name: string(header.Key), Value: header.Value})
		}
		records = append(records, out)
	}
	jobs.Dump(j, records)
	return len(records)
}
