// The @platformatic/kafka client of the end-to-end tests.

import { Admin, Consumer, Producer } from '@platformatic/kafka'
import { Dump, load, pause, serve } from './jobs.js'

const clientId = 'pelton-e2e'

async function create (bootstrap, { topic, partitions }) {
  const admin = new Admin({ clientId, bootstrapBrokers: [bootstrap] })
  await admin.createTopics({ topics: [topic], partitions, replicas: 1 })
  await admin.close()
  return 0
}

async function write (bootstrap, job) {
  const producer = new Producer({ clientId, bootstrapBrokers: [bootstrap], idempotent: true })
  const records = await load(job)
  for (let first = 0; first < records.length; first += 200) {
    const messages = records.slice(first, first + 200).map(record => ({
      ...record,
      topic: job.topic,
      key: record.key ?? undefined,
      value: record.value ?? undefined,
      headers: new Map(record.headers.map(([name, value]) => [Buffer.from(name), value])),
      timestamp: BigInt(record.timestamp)
    }))
    await producer.send({ messages, compression: job.codec })
  }
  await producer.close()
  return records.length
}

// Takes count records in a group, commits exactly those, waits extra_ms for a record too many (and counts
// it too) and leaves.
async function read (bootstrap, job) {
  const consumer = new Consumer({ clientId, bootstrapBrokers: [bootstrap], groupId: job.group })
  const dump = new Dump(job)
  const following = new Map()
  const stream = await consumer.consume(
    { topics: job.topics, mode: 'committed', fallbackMode: 'earliest', autocommit: false, maxWaitTime: 100 })
  const messages = stream[Symbol.asyncIterator]()
  while (dump.taken < job.count) {
    const { topic, partition, offset, key, value, headers, timestamp } = (await messages.next()).value
    dump.add({ topic, partition, offset, key, value, timestamp, headers: [...headers].map(text) })
    following.set(`${topic} ${partition}`, { topic, partition, offset: offset + 1n, leaderEpoch: 0 })
  }
  await consumer.commit({ offsets: [...following.values()] })
  let extra = 0
  if (job.extra_ms > 0) {
    const next = await Promise.race([messages.next(), pause(job.extra_ms)])
    extra = next?.value ? 1 : 0
  }
  await consumer.close(true)
  await dump.close()
  return dump.taken + extra
}

function text ([name, value]) {
  return [name.toString(), value]
}

await serve({ create, write, read })
