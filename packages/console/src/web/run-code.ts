/**
 * The worker that runs the code of the JavaScript page. It has a policy of its own that lets it evaluate code. It has no document
 * and no storage, and can reach nothing but this server. Code that does not end is stopped by terminating the worker.
 */
import { connect, versionOf, within } from '@freshet/client'
import type { FromCode, ToCode } from './run-code-messages.js'

type Run = (...values: readonly unknown[]) => Promise<unknown>

const AsyncFunction = (async () => undefined).constructor as new (...parameters: readonly string[]) => Run
const TEXT_MAX = 50_000

addEventListener('message', ({ data }: MessageEvent<ToCode>) => {
  run(data).then(
    value => say({ kind: 'done', text: value === undefined ? '' : textOf(value) }),
    error => say({ kind: 'failed', text: errorText(error) }),
  )
})

async function run({ code, authorization }: ToCode): Promise<unknown> {
  const print = (...values: readonly unknown[]) => say({ kind: 'printed', text: values.map(textOf).join(' ') })
  const names = { connect, within, versionOf, print, console: { log: print, warn: print, error: print, info: print } }
  const db = await connect(location.origin, authorization === '' ? {} : { authorization })
  const compiled = new AsyncFunction('db', ...Object.keys(names), `'use strict'\n${code}`)
  try {
    return await compiled(db, ...Object.values(names))
  } finally {
    db.close()
  }
}

function say(message: FromCode): void {
  postMessage(message)
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value.slice(0, TEXT_MAX)
  if (value instanceof Error) return errorText(value)
  try {
    return (JSON.stringify(value, bigAsText, 2) ?? String(value)).slice(0, TEXT_MAX)
  } catch {
    return String(value)
  }
}

function bigAsText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}

function errorText(error: unknown): string {
  if (!(error instanceof Error)) return `Thrown: ${textOf(error)}`
  const { code } = error as { readonly code?: unknown }
  return `${typeof code === 'string' ? `${code}: ` : `${error.name}: `}${error.message}`
}
