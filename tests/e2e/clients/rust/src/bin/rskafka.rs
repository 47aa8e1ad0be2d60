//! The rskafka client (Rust throughout, without consumer groups) of the end-to-end tests.

use std::collections::BTreeMap;

use chrono::{TimeZone, Utc};
use pelton_e2e_clients::{dump, load, serve, Deadline, HeaderValue, Job, Record};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};

const FETCH_BYTES: std::ops::Range<i32> = 1..4_000_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    serve(|bootstrap, job| {
        runtime.block_on(async {
            let client = ClientBuilder::new(vec![bootstrap.to_string()]).build().await.unwrap();
            match job.op.as_str() {
                "create" => create(&client, job).await,
                "write" => write(&client, job).await,
                "read" => read(&client, job).await,
                other => panic!("unknown op {other}"),
            }
        })
    });
}

async fn create(client: &Client, job: &Job) -> usize {
    let controller = client.controller_client().unwrap();
    controller.create_topic(&job.topic, job.partitions, 1, 30_000).await.unwrap();
    0
}

fn compression(codec: &str) -> Compression {
    match codec {
        "none" => Compression::NoCompression,
        "gzip" => Compression::Gzip,
        "snappy" => Compression::Snappy,
        "lz4" => Compression::Lz4,
        "zstd" => Compression::Zstd,
        other => panic!("unknown codec {other}"),
    }
}

async fn partition(client: &Client, topic: &str, number: i32) -> PartitionClient {
    client.partition_client(topic, number, UnknownTopicHandling::Retry).await.unwrap()
}

/// One batch holds at most this many records, so that the broker's limit on its size is not met.
const BATCH: usize = 100;

async fn write(client: &Client, job: &Job) -> usize {
    let mut by_partition: BTreeMap<i32, Vec<rskafka::record::Record>> = BTreeMap::new();
    for record in load(job) {
        by_partition.entry(record.p).or_default().push(rskafka::record::Record {
            key: record.k,
            value: record.v,
            headers: record.h.into_iter().map(|(name, value)| (name, value.0.unwrap())).collect(),
            timestamp: Utc.timestamp_millis_opt(record.t).unwrap(),
        });
    }
    let mut sent = 0;
    for (number, records) in by_partition {
        let partition = partition(client, &job.topic, number).await;
        for batch in records.chunks(BATCH) {
            sent += partition.produce(batch.to_vec(), compression(&job.codec)).await.unwrap().len();
        }
    }
    sent
}

/// Takes count records, partition after partition, from the job's offsets on. Of a fetch answer it takes
/// what it needs.
async fn read(client: &Client, job: &Job) -> usize {
    let (mut records, deadline) = (Vec::new(), Deadline::new());
    for (topic, number, from) in &job.from {
        let partition = partition(client, topic, *number).await;
        let end = partition.get_offset(OffsetAt::Latest).await.unwrap();
        let mut offset = *from;
        while offset < end && records.len() < job.count {
            deadline.check(records.len(), job.count);
            let (taken, _) = partition.fetch_records(offset, FETCH_BYTES, 100).await.unwrap();
            for record in taken.into_iter().take(job.count - records.len()) {
                offset = record.offset + 1;
                records.push(taken_record(topic, *number, record));
            }
        }
    }
    dump(job, &records);
    records.len()
}

fn taken_record(topic: &str, number: i32, record: rskafka::record::RecordAndOffset) -> Record {
    let headers = record.record.headers.into_iter();
    Record {
        topic: topic.to_string(),
        p: number,
        o: record.offset,
        k: record.record.key,
        v: record.record.value,
        h: headers.map(|(name, value)| (name, HeaderValue(Some(value)))).collect(),
        t: record.record.timestamp.timestamp_millis(),
    }
}
