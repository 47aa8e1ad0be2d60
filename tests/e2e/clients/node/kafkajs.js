// The kafkajs client of the end-to-end tests, with the codecs that people add to it.

import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import { Dump, load, pause, serve } from './jobs.js'

const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs
const require = createRequire(import.meta.url)
const zstd = require('@bokuweb/zstd-wasm')
const LZ4 = require('kafkajs-lz4')

// One start of the zstd module: two at a time break each other.
const zstdReady = zstd.init()
CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')
CompressionCodecs[CompressionTypes.LZ4] = new LZ4().codec
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  async compress (encoder) {
    await zstdReady
    return Buffer.from(zstd.compress(encoder.buffer))
  },
  async decompress (data) {
    await zstdReady
    return Buffer.from(zstd.decompress(data))
  }
})

const COMPRESSION = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD
}

function client (bootstrap) {
  return new Kafka({ brokers: [bootstrap], logLevel: logLevel.ERROR })
}

async function create (bootstrap, { topic, partitions }) {
  const admin = client(bootstrap).admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: 1 }] })
  await admin.disconnect()
  return 0
}

async function write (bootstrap, job) {
  const createPartitioner = () => ({ message }) => message.partition
  const producer = client(bootstrap).producer({ createPartitioner })
  await producer.connect()
  const records = await load(job)
  for (let first = 0; first < records.length; first += 200) {
    const messages = records.slice(first, first + 200).map(record => (
      { ...record, headers: grouped(record.headers), timestamp: String(record.timestamp) }))
    await producer.send({ topic: job.topic, acks: -1, compression: COMPRESSION[job.codec], messages })
  }
  await producer.disconnect()
  return records.length
}

// As kafkajs has them: an object; a name that comes twice has a list of values.
function grouped (headers) {
  const names = {}
  for (const [name, value] of headers) {
    names[name] = name in names ? [names[name], value].flat() : value
  }
  return names
}

function ungrouped (headers) {
  return Object.entries(headers).flatMap(([name, value]) => [value].flat().map(one => [name, one]))
}

// Takes count records in a group, commits exactly those, waits extra_ms for a record too many (and counts
// it too) and leaves.
async function read (bootstrap, job) {
  const consumer = client(bootstrap).consumer({ groupId: job.group, maxWaitTimeInMs: 100 })
  const dump = new Dump(job)
  const following = new Map()
  let extra = 0
  await consumer.connect()
  await consumer.subscribe({ topics: job.topics, fromBeginning: true })
  const full = new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    const eachMessage = async ({ topic, partition, message }) => {
      if (dump.taken === job.count) {
        extra++
        return
      }
      dump.add({ topic, partition, ...message, headers: ungrouped(message.headers) })
      const offset = String(BigInt(message.offset) + 1n)
      following.set(`${topic} ${partition}`, { topic, partition, offset })
      if (dump.taken === job.count) resolve()
    }
    consumer.run({ autoCommit: false, eachMessage }).catch(reject)
  })
  await full
  await consumer.commitOffsets([...following.values()])
  if (job.extra_ms > 0) {
    await pause(job.extra_ms)
  } else {
    extra = 0
  }
  await consumer.disconnect()
  await dump.close()
  return dump.taken + extra
}

await serve({ create, write, read })
