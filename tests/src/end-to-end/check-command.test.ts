/**
 * `freshet check` in use: the server and a client in another process record, and the command says whether every promise was
 * kept. It also finds violations planted in the recordings.
 */
import { execFile } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '@freshet/client'
import { type HistoryRecord, type HistorySummary, parseRecord } from '@freshet/core/history'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'

const FRESHET = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))
let folder: string
let server: string
let client: string

/** A server that records into a file, and a client that reads and writes for longer than the interval of clock comparisons. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-check-'))
  server = join(folder, 'server.ndjson')
  client = join(folder, 'client.ndjson')
  const running = await startFreshet(['serve', '--workers', '1', '--data', join(folder, 'data'), '--record', server], {
    cwd: folder,
  })
  const lines: string[] = []
  const db = await connect(running.url, { record: line => lines.push(line), staleness: 50 })
  const products = db.bucket<{ price: number }>('shop/products')
  await products.get('never', { read: 'current' })
  const isCompared = () => lines.filter(line => line.includes('"op":"session"')).length > 1
  for (let price = 0; !isCompared(); price++) {
    await products.put(`${price % 3}`, { price })
    await products.get(`${(price + 1) % 3}`)
    await products.get(`${price % 3}`, { read: 'current' })
  }
  db.close()
  expect(await running.stop()).toBe(0)
  writeFileSync(client, `${lines.join('\n')}\n`)
})

afterAll(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})

function plant(name: string, change: (record: HistoryRecord, index: number) => HistoryRecord): string {
  const path = join(folder, name)
  const records = readFileSync(client, 'utf8').trimEnd().split('\n').map(parseRecord)
  writeFileSync(path, `${records.map((record, i) => JSON.stringify(change(record, i))).join('\n')}\n`)
  return path
}

function check(...args: string[]) {
  return runFreshet(['check', ...args], { cwd: folder })
}

describe('freshet check', () => {
  test('finds that every promise was kept', async () => {
    const { exitCode, output, errors } = await check(client, server)
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' })
    expect(output).toContain('No promise was broken.')
    expect(output).toMatch(/served from +reads +stale +broken\n/)
    const json = JSON.parse((await check('--json', server, client)).output) as HistorySummary
    expect(json.brokenReads).toBe(0)
    expect(json.servedFrom.origin!.reads).toBeGreaterThan(10)
    expect(json.undecided.lines).toBe(0)
  })

  test('finds an older version in the middle, by the write that only the server recorded', async () => {
    // Without the client's own writes, only the server's record is left, with times by another clock.
    const half = readFileSync(client, 'utf8').split('\n').length / 2
    let isPlanted = false
    const path = plant('stale.ndjson', (record, i) => {
      if (isPlanted || record.op !== 'read' || i < half || record.v <= 12 || record.within !== 0) return record
      isPlanted = true
      return { ...record, v: record.v - 12, pos: record.v - 12, sp: 0 }
    })
    const withoutWrites = join(folder, 'reads.ndjson')
    const reads = readFileSync(path, 'utf8')
      .split('\n')
      .filter(line => !line.includes('"op":"write"'))
    writeFileSync(withoutWrites, reads.join('\n'))
    const { exitCode, output } = await check(withoutWrites, server)
    expect(output).toMatch(/^current broken: session \w+ read \/db\/shop\/products\/\d, promised within 0 ms$/m)
    expect(output).toMatch(/^ {2}missed the write at position \d+, acknowledged to \w+ at [\d.]+ s \(clock \w+\)$/m)
    expect(exitCode).toBe(1)
  })

  test('finds a lost own write', async () => {
    let last = 0
    const path = plant('lost.ndjson', record => {
      if (record.op === 'write') last = record.at
      return record.op === 'read' && record.v === last && last > 3 ? { ...record, v: last - 3, pos: last - 3 } : record
    })
    const { exitCode, output } = await check('--json', '--traces', '1', path)
    const { violations, first } = JSON.parse(output) as HistorySummary & { first: unknown[] }
    expect(exitCode).toBe(1)
    expect(violations['own write']).toBeGreaterThan(0)
    expect(first).toHaveLength(1)
  })

  test.each([
    ['oops\n', /^bad\.ndjson:1: This is not a line of a recording: it is not JSON/],
    ['', /^bad\.ndjson: the recording has no lines\.$/],
  ])('a file that holds %j is refused, with exit code 2', async (content, message) => {
    writeFileSync(join(folder, 'bad.ndjson'), content)
    const { exitCode, output, errors } = await check('bad.ndjson')
    expect({ exitCode, output }).toEqual({ exitCode: 2, output: '' })
    expect(errors.trimEnd()).toMatch(message)
  })

  test('so is a file that does not exist', async () => {
    expect(await check('no.ndjson')).toEqual({
      exitCode: 2,
      output: '',
      errors: 'The recording no.ndjson does not exist.\n',
    })
  })

  test('--follow continues while the file grows, and ends with its findings', async () => {
    const path = join(folder, 'growing.ndjson')
    const lines = readFileSync(client, 'utf8').trimEnd().split('\n')
    writeFileSync(path, `${lines.slice(0, 20).join('\n')}\n`)
    const said: { event: string; lines: number }[] = []
    const child = execFile(process.execPath, [FRESHET, 'check', '--follow', '--interval', '100ms', path])
    // Also waits for its output.
    const ended = new Promise<number | null>(resolve => child.once('close', resolve))
    child.stdout!.on('data', (chunk: string) => {
      for (const line of chunk.trimEnd().split('\n')) said.push(JSON.parse(line))
    })
    const until = (count: number) => vi.waitFor(() => expect(said.at(-1)?.lines).toBe(count), { timeout: 30_000 })
    await until(20)
    appendFileSync(path, `${lines.slice(20).join('\n')}\n`)
    await until(lines.length)
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(said.at(-1)).toMatchObject({ event: 'end', lines: lines.length, brokenReads: 0 })
  })
})
