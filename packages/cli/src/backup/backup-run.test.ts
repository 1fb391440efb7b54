import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Position, Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { chooseMark, restoreStore } from '../restore/restore-store.js'
import { LineWriter } from '../transfer/line-writer.js'
import { readFolder, segmentPath } from './backup-folder.js'
import { BackupRun } from './backup-run.js'

const { signal } = new AbortController()
const onProgress = () => {}
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-backup-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A store that other clients write to whenever it is read, and everything that was ever in it. */
class BusyStore {
  readonly store = createMemoryStore()
  readonly state: Store
  readonly #history: { position: Position; key: string; value: string | undefined }[] = []
  #random: number
  isBusy = false

  constructor(seed: number) {
    this.#random = seed
    const disturbed = ['scan', 'getMany', 'changes']
    this.state = new Proxy(this.store, {
      get: (store, name) => {
        const method = Reflect.get(store, name) as unknown
        if (typeof method !== 'function') return method
        const bound = method.bind(store) as (...args: unknown[]) => unknown
        if (!disturbed.includes(String(name))) return bound
        return async (...args: unknown[]) => {
          if (this.isBusy && this.#below(2) === 0) await this.write()
          const result = await bound(...args)
          if (this.isBusy && this.#below(3) === 0) await this.write()
          return result
        }
      },
    })
  }

  /** Writes a hot key, or one of many; now and then it deletes one. */
  async write(): Promise<void> {
    const key = this.#below(3) === 0 ? 'shop/views/hot' : `shop/products/${this.#below(100)}`
    const value = this.#below(4) === 0 ? undefined : `${this.#below(1e6)}`
    const result = await this.store.commit({
      writes: [
        value === undefined
          ? { key, delete: true }
          : { key, contentType: 'application/json', body: Buffer.from(value) },
      ],
    })
    if (result.committed) this.#history.push({ position: result.position, key, value })
  }

  at(position: Position): Record<string, string> {
    const state: Record<string, string> = {}
    for (const each of this.#history) {
      if (each.position > position) break
      if (each.value === undefined) delete state[each.key]
      else state[each.key] = each.value
    }
    return state
  }

  #below(limit: number): number {
    this.#random = (Math.imul(this.#random, 1664525) + 1013904223) >>> 0
    return Math.floor((this.#random / 2 ** 32) * limit)
  }
}

async function contents(store: Store): Promise<Record<string, string>> {
  const state: Record<string, string> = {}
  for (const { bucket } of await store.buckets()) {
    const { entries } = await store.scan(bucket, { limit: 10_000 })
    for (const { id, body } of entries) state[`${bucket}/${id}`] = Buffer.from(body).toString()
  }
  return state
}

async function takeTwo(busy: BusyStore): Promise<void> {
  for (let i = 0; i < 300; i++) await busy.write()
  busy.isBusy = true
  const first = await LineWriter.create(segmentPath(folder, 1))
  const full = await BackupRun.full({ state: busy.state, writer: first, signal, onProgress })
  const mark = await full.mark()
  await first.close()
  const second = await LineWriter.create(segmentPath(folder, 2))
  const changes = await BackupRun.changes({ state: busy.state, writer: second, signal, onProgress }, mark)
  for (let turn = 0; turn < 10; turn++) {
    for (let i = 0; i < 5; i++) await busy.write()
    busy.isBusy = turn < 9
    await changes.catchUp()
  }
  await second.close()
}

test.each([1, 2, 3])(
  'every mark is exactly the state at its position, whatever other clients write meanwhile (seed %i)',
  async seed => {
    const busy = new BusyStore(seed)
    await takeTwo(busy)
    const read = await readFolder(folder)
    const marks = read.segments.flatMap(segment => segment.marks)
    expect(marks.length).toBeGreaterThan(5)
    const [first, last] = [marks[0]!, marks.at(-1)!]
    const some = [first, ...marks.filter((_, i) => i % Math.ceil(marks.length / 12) === 1), last]
    for (const { position } of some) {
      const to = createMemoryStore()
      const chosen = chooseMark(read, { position })
      expect(chosen.mark.position).toBe(position)
      const objects = await restoreStore({ chosen, to, signal, onProgress })
      expect(await contents(to)).toEqual(busy.at(position))
      expect(objects).toBe(Object.keys(busy.at(position)).length)
    }
    expect(marks.at(-1)!.position).toBe(await busy.store.position())
  },
)

test('a changed byte, a missing file and a line that is cut off are each found', async () => {
  const busy = new BusyStore(7)
  await takeTwo(busy)
  const [first, second] = [segmentPath(folder, 1), segmentPath(folder, 2)]
  const [one, two] = [readFileSync(first, 'utf8'), readFileSync(second, 'utf8')]

  writeFileSync(first, one.replace(/"id":"(\d)/, '"id":"9$1'))
  expect(await readFolder(folder)).toMatchObject({ segments: [], damages: [{ error: { code: 'FILE_INVALID' } }] })
  writeFileSync(first, one)

  // Cut off after a mark, before the end: everything up to the mark is good.
  const lines = two.split('\n')
  const lastMark = lines.findLastIndex(line => line.startsWith('{"mark"'))
  writeFileSync(second, `${lines.slice(0, lastMark).join('\n')}\n{"bucket":"shop/pro`)
  const cut = await readFolder(folder)
  expect(cut.damages).toEqual([])
  expect(cut.segments[1]!.unused).toBeGreaterThan(0)
  expect(chooseMark(cut, undefined).mark.position).toBeLessThan(await busy.store.position())

  rmSync(first)
  expect(await readFolder(folder)).toMatchObject({ segments: [], damages: [{ error: { code: 'FILE_INVALID' } }] })
})

test('a state before the first one is refused, and the error names the states there are', async () => {
  await takeTwo(new BusyStore(8))
  expect(() => chooseMark({ segments: [], damages: [] }, undefined)).toThrow('There is no backup')
  const read = await readFolder(folder)
  expect(() => chooseMark(read, { timeMs: 0 })).toThrow('The backup begins at')
})

test('damage, or a file that does not follow, affects no other state, and is never taken for the latest', async () => {
  const busy = new BusyStore(9)
  await takeTwo(busy)
  const second = segmentPath(folder, 2)
  const good = await readFolder(folder)
  const marks = good.segments[1]!.marks
  const [before, after] = [marks.at(-2)!, marks.at(-1)!]
  // A file that continues from the same mark as the one before it, as if two processes had written at once.
  writeFileSync(segmentPath(folder, 3), readFileSync(second))
  const forked = await readFolder(folder)
  expect(forked.segments).toEqual(good.segments)
  expect(() => chooseMark(forked, undefined)).toThrow(`--at ${after.position}`)
  expect(chooseMark(forked, { position: after.position }).mark).toEqual(after)

  // Damaged between two marks: the first of them is still good.
  rmSync(segmentPath(folder, 3))
  const lines = readFileSync(second, 'utf8').split('\n')
  const lastMark = lines.findLastIndex(line => line.startsWith('{"mark"'))
  lines[lastMark - 1] = lines[lastMark - 1]!.replace('"id":"', '"id":"x')
  writeFileSync(second, lines.join('\n'))
  const damaged = await readFolder(folder)
  expect(() => chooseMark(damaged, undefined)).toThrow(`--at ${before.position}`)
  const chosen = chooseMark(damaged, { position: after.position })
  expect(chosen.mark).toEqual(before)
  const to = createMemoryStore()
  await restoreStore({ chosen, to, signal, onProgress })
  expect(await contents(to)).toEqual(busy.at(before.position))

  // After another full backup, the folder is good from there on.
  const third = await LineWriter.create(segmentPath(folder, 3))
  const last = await (await BackupRun.full({ state: busy.state, writer: third, signal, onProgress })).mark()
  await third.close()
  expect(chooseMark(await readFolder(folder), undefined).mark).toEqual(last)
})
