// The node-rdkafka client (librdkafka behind a Node interface) of the end-to-end tests.

import rdkafka from 'node-rdkafka'
import { promisify } from 'node:util'
import { Dump, load, pause, serve } from './jobs.js'

const { AdminClient, KafkaConsumer, Producer } = rdkafka

async function create (bootstrap, { topic, partitions }) {
  const admin = AdminClient.create({ 'bootstrap.servers': bootstrap })
  await promisify(admin.createTopic.bind(admin))(
    { topic, num_partitions: partitions, replication_factor: 1 }, 30_000)
  admin.disconnect()
  return 0
}

async function write (bootstrap, job) {
  const producer = new Producer({
    'bootstrap.servers': bootstrap, 'compression.codec': job.codec, 'linger.ms': 2, dr_cb: true
  })
  let delivered = 0
  let failure
  producer.on('delivery-report', error => { error ? failure = error : delivered++ })
  await connected(producer)
  producer.setPollInterval(20)
  const records = await load(job)
  for (const { partition, key, value, headers, timestamp } of records) {
    producer.produce(job.topic, partition, value, key, timestamp, null,
      headers.map(([name, value]) => ({ [name]: value.toString() })))
  }
  // Reports come after flush() has ended, too.
  while (delivered < records.length && !failure) await pause(5)
  await promisify(producer.disconnect.bind(producer))()
  if (failure) throw failure
  return delivered
}

function connected (client) {
  return new Promise((resolve, reject) => {
    client.on('ready', resolve)
    client.on('event.error', reject)
    client.connect()
  })
}

// Takes count records in a group, commits exactly those, waits extra_ms for a record too many (and counts
// it too) and leaves.
async function read (bootstrap, job) {
  const consumer = new KafkaConsumer({
    'bootstrap.servers': bootstrap,
    'group.id': job.group,
    'enable.auto.commit': false,
    'fetch.wait.max.ms': 100
  }, { 'auto.offset.reset': 'earliest' })
  await connected(consumer)
  consumer.subscribe(job.topics)
  const consume = promisify(consumer.consume.bind(consumer))
  const dump = new Dump(job)
  const following = new Map()
  consumer.setDefaultConsumeTimeout(200)
  while (dump.taken < job.count) {
    for (const message of await consume(job.count - dump.taken)) {
      const { topic, partition, offset } = message
      dump.add({ ...message, headers: (message.headers ?? []).flatMap(Object.entries) })
      following.set(`${topic} ${partition}`, { topic, partition, offset: offset + 1 })
    }
  }
  consumer.commitSync([...following.values()])
  let extra = 0
  if (job.extra_ms > 0) {
    consumer.setDefaultConsumeTimeout(job.extra_ms)
    extra = (await consume(1)).length
  }
  await promisify(consumer.disconnect.bind(consumer))()
  await dump.close()
  return dump.taken + extra
}

await serve({ create, write, read })
