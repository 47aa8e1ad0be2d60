//! What the Rust clients of the end-to-end tests share: they run the jobs that they read from standard
//! input, one JSON object a line, and print one JSON object a job.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// One line of input. Which fields count depends on `op`: create, write or read.
#[derive(Deserialize)]
pub struct Job {
    pub op: String,
    #[serde(default)]
    pub topic: String,
    #[serde(default)]
    pub partitions: i32,
    #[serde(default)]
    pub codec: String,
    #[serde(default)]
    pub file: String,
    #[serde(default)]
    pub topics: Vec<String>,
    #[serde(default)]
    pub group: String,
    /// The partitions that a client without groups reads, and where it begins.
    #[serde(default)]
    pub from: Vec<(String, i32, i64)>,
    #[serde(default)]
    pub count: usize,
    #[serde(default)]
    pub extra_ms: u64,
}

/// A record in a file: bytes in hexadecimal, none for an absent key, value or header value.
#[derive(Deserialize, Serialize)]
pub struct Record {
    #[serde(default)]
    pub topic: String,
    pub p: i32,
    #[serde(default)]
    pub o: i64,
    #[serde(with = "hexadecimal")]
    pub k: Option<Vec<u8>>,
    #[serde(with = "hexadecimal")]
    pub v: Option<Vec<u8>>,
    pub h: Vec<(String, HeaderValue)>,
    pub t: i64,
}

#[derive(Deserialize, Serialize)]
pub struct HeaderValue(#[serde(with = "hexadecimal")] pub Option<Vec<u8>>);

mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(data: &Option<Vec<u8>>, out: S) -> Result<S::Ok, S::Error> {
        data.as_ref().map(hex::encode).serialize(out)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(input: D) -> Result<Option<Vec<u8>>, D::Error> {
        Option::<String>::deserialize(input)?
            .map(|text| hex::decode(text).map_err(serde::de::Error::custom))
            .transpose()
    }
}

/// Runs the jobs of standard input; `operation` returns a job's count.
pub fn serve(mut operation: impl FnMut(&str, &Job) -> usize) {
    let bootstrap = std::env::args().nth(1).expect("usage: client BOOTSTRAP");
    for line in std::io::stdin().lock().lines() {
        let job: Job = serde_json::from_str(&line.unwrap()).expect("a job");
        let done = operation(&bootstrap, &job);
        println!("{{\"op\":{:?},\"done\":{}}}", job.op, done);
    }
}

/// The records of a write job.
pub fn load(job: &Job) -> Vec<Record> {
    let file = BufReader::new(File::open(&job.file).expect("the input file"));
    file.lines().map(|line| serde_json::from_str(&line.unwrap()).expect("a record")).collect()
}

/// Writes the records of a read job.
pub fn dump(job: &Job, records: &[Record]) {
    let mut out = BufWriter::new(File::create(&job.file).expect("the output file"));
    for record in records {
        serde_json::to_writer(&mut out, record).unwrap();
        out.write_all(b"\n").unwrap();
    }
    out.flush().unwrap();
}

/// Ends the program when a job takes too long.
pub struct Deadline(Instant);

impl Deadline {
    pub const LIMIT: Duration = Duration::from_secs(60);

    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Deadline(Instant::now() + Self::LIMIT)
    }

    pub fn check(&self, taken: usize, wanted: usize) {
        assert!(Instant::now() < self.0, "only {taken} of {wanted} records");
    }
}
