// What the Node clients of the end-to-end tests share: they run the jobs that they read from standard
// input, one JSON object a line, and print one JSON object a job.

import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { once } from 'node:events'

const LIMIT_MS = 60_000

// operations: op -> async (bootstrap, job) => count
export async function serve (operations) {
  const bootstrap = process.argv[2]
  for await (const line of createInterface({ input: process.stdin })) {
    const job = JSON.parse(line)
    const done = await limited(operations[job.op](bootstrap, job), job)
    console.log(JSON.stringify({ op: job.op, done }))
  }
  process.exit(0)
}

async function limited (operation, job) {
  let timer
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${job.op} took longer than ${LIMIT_MS} ms`)), LIMIT_MS)
  })
  try {
    return await Promise.race([operation, late])
  } finally {
    clearTimeout(timer)
  }
}

// The records of a write job: buffers instead of hexadecimal text.
export async function load (job) {
  const records = []
  for await (const line of createInterface({ input: createReadStream(job.file) })) {
    const { p, k, v, h, t } = JSON.parse(line)
    const headers = h.map(([name, value]) => [name, bytes(value)])
    records.push({ partition: p, key: bytes(k), value: bytes(v), headers, timestamp: t })
  }
  return records
}

// The output of a read job; takes records with the fields of load, a topic and an offset.
export class Dump {
  constructor (job) {
    this.out = createWriteStream(job.file)
    this.taken = 0
  }

  add ({ topic, partition, offset, key, value, headers, timestamp }) {
    this.taken++
    const h = headers.map(([name, value]) => [name, hex(value)])
    this.out.write(JSON.stringify(
      { topic, p: partition, o: Number(offset), k: hex(key), v: hex(value), h, t: Number(timestamp) }) + '\n')
  }

  async close () {
    this.out.end()
    await once(this.out, 'finish')
  }
}

export function pause (milliseconds) {
  return new Promise(resolve => setTimeout(resolve, milliseconds))
}

function bytes (text) {
  return text === null ? null : Buffer.from(text, 'hex')
}

function hex (data) {
  return data == null ? null : Buffer.from(data).toString('hex')
}
