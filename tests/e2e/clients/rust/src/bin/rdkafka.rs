//! The rdkafka client (librdkafka behind a Rust interface) of the end-to-end tests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use pelton_e2e_clients::{dump, load, serve, Deadline, HeaderValue, Job, Record};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::message::{Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientContext, Offset, TopicPartitionList};

fn main() {
    serve(|bootstrap, job| match job.op.as_str() {
        "create" => create(bootstrap, job),
        "write" => write(bootstrap, job),
        "read" => read(bootstrap, job),
        other => panic!("unknown op {other}"),
    });
}

fn config(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap);
    config
}

fn create(bootstrap: &str, job: &Job) -> usize {
    let admin: AdminClient<DefaultClientContext> = config(bootstrap).create().unwrap();
    let topic = NewTopic::new(&job.topic, job.partitions, TopicReplication::Fixed(1));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let answers = runtime.block_on(admin.create_topics([&topic], &AdminOptions::new())).unwrap();
    answers.into_iter().for_each(|answer| {
        answer.unwrap();
    });
    0
}

struct Delivered(Arc<AtomicUsize>);

impl ClientContext for Delivered {}

impl ProducerContext for Delivered {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, _: ()) {
        if let Err((error, _)) = result {
            panic!("not delivered: {error}");
        }
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn write(bootstrap: &str, job: &Job) -> usize {
    let delivered = Arc::new(AtomicUsize::new(0));
    let producer: ThreadedProducer<Delivered> = config(bootstrap)
        .set("compression.codec", &job.codec)
        .set("linger.ms", "2")
        .create_with_context(Delivered(delivered.clone()))
        .unwrap();
    for record in load(job) {
        let mut headers = OwnedHeaders::new();
        for (name, HeaderValue(value)) in &record.h {
            headers = headers.insert(Header { key: name, value: value.as_ref() });
        }
        let mut message: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(&job.topic)
            .partition(record.p)
            .timestamp(record.t)
            .headers(headers);
        message.key = record.k.as_deref();
        message.payload = record.v.as_deref();
        producer.send(message).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(Deadline::LIMIT).unwrap();
    delivered.load(Ordering::Relaxed)
}

/// Takes count records in a group, commits exactly those, waits extra_ms for a record too many (and
/// counts it too) and leaves.
fn read(bootstrap: &str, job: &Job) -> usize {
    let consumer: BaseConsumer = config(bootstrap)
        .set("group.id", &job.group)
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "false")
        .set("fetch.wait.max.ms", "100")
        .create()
        .unwrap();
    let topics: Vec<&str> = job.topics.iter().map(String::as_str).collect();
    consumer.subscribe(&topics).unwrap();
    let (mut records, mut following) = (Vec::new(), HashMap::new());
    let deadline = Deadline::new();
    while records.len() < job.count {
        deadline.check(records.len(), job.count);
        if let Some(message) = consumer.poll(Duration::from_millis(200)) {
            let message = message.unwrap();
            following.insert((message.topic().to_string(), message.partition()), message.offset() + 1);
            records.push(taken(&message));
        }
    }
    let mut offsets = TopicPartitionList::new();
    for ((topic, partition), offset) in &following {
        offsets.add_partition_offset(topic, *partition, Offset::Offset(*offset)).unwrap();
    }
    consumer.commit(&offsets, CommitMode::Sync).unwrap();
    let extra = job.extra_ms > 0 && consumer.poll(Duration::from_millis(job.extra_ms)).is_some();
    dump(job, &records);
    records.len() + usize::from(extra)
}

fn taken(message: &impl Message) -> Record {
    let headers = message.headers().map(|headers| {
        headers
            .iter()
            .map(|header| (header.key.to_string(), HeaderValue(header.value.map(<[u8]>::to_vec))))
            .collect()
    });
    Record {
        topic: message.topic().to_string(),
        p: message.partition(),
        o: message.offset(),
        k: message.key().map(<[u8]>::to_vec),
        v: message.payload().map(<[u8]>::to_vec),
        h: headers.unwrap_or_default(),
        t: message.timestamp().to_millis().unwrap_or(-1),
    }
}
