/** `freshet doctor` in its own process, and its report. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { PROGRESS } from '../end-to-end/freshet-process.js'
import type { MemoryServer } from '../end-to-end/memory-server.js'

const FRESHET = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))

export interface Report {
  readonly isSafe: boolean
  readonly caches: readonly { readonly name: string }[]
  readonly findings: readonly {
    readonly fact: string
    readonly effect: string
    readonly saw: string
    readonly advice: readonly { readonly cache: string; readonly lines: readonly string[] }[]
  }[]
}

interface Ended {
  readonly exitCode: number | null
  readonly output: string
  /** Without progress lines. */
  readonly errors: string
}

const running = new Set<ChildProcess>()

export function startDoctor(...args: readonly string[]): {
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
} {
  const child = spawn(process.execPath, [FRESHET, 'doctor', ...args], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  const ended = Promise.all([
    once(child, 'exit') as Promise<[number | null]>,
    text(child.stdout!),
    text(child.stderr!),
  ]).then(([[exitCode], output, errors]) => ({ exitCode, output, errors: errors.replaceAll(PROGRESS, '') }))
  return { process: child, ended }
}

export function doctor(...args: readonly string[]): Promise<Ended> {
  return startDoctor(...args).ended
}

/** With `--json`. */
export async function examine(
  cache: { readonly url: string },
  ...args: readonly string[]
): Promise<Report & Pick<Ended, 'exitCode'>> {
  const { exitCode, output, errors } = await doctor('--through', cache.url, '--json', ...args)
  expect(errors).toBe('')
  return { exitCode, ...(JSON.parse(output.trimEnd().split('\n').at(-1)!) as Report) }
}

/** For the named facts, or for facts with one of these effects. */
export function effects({ findings }: Report, ...wanted: readonly string[]): Record<string, string> {
  const chosen = findings.filter(({ effect, fact }) => wanted.includes(effect) || wanted.includes(fact))
  return Object.fromEntries(chosen.map(({ fact, effect }) => [fact, effect]).sort())
}

/** The number of probe objects in the server. */
export async function objectsLeft(server: MemoryServer): Promise<number> {
  const buckets = await bucketsOfDoctors(server)
  const lists = await Promise.all(buckets.map(bucket => fetch(`${server.url}/db/freshet-doctor/${bucket}`)))
  const pages = (await Promise.all(lists.map(list => list.json()))) as { items?: unknown[] }[]
  return pages.reduce((sum, { items = [] }) => sum + items.length, 0)
}

export async function bucketsOfDoctors({ url }: MemoryServer): Promise<readonly string[]> {
  const found = (await (await fetch(`${url}/db/freshet-doctor`)).json()) as { buckets?: { bucket: string }[] }
  return (found.buckets ?? []).map(({ bucket }) => bucket)
}

/** Ends whatever a failed test has left behind. */
export async function endDoctors(): Promise<void> {
  for (const child of running) {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
}
