/**
 * Loaded into a server before it starts (`node --import`): ends the process, like `kill -9`, at one point in the processing of
 * the first request that asks for it (`X-Request-Id: crash`). FRESHET_CRASH_AT names the point.
 */
import { Server, ServerResponse } from 'node:http'
import type { CrashPoint } from './crash-points.js'

const point = process.env.FRESHET_CRASH_AT as CrashPoint
let isArmed = false

function crashAt(here: CrashPoint): void {
  if (isArmed && point === here) process.kill(process.pid, 'SIGKILL')
}

type Method = (this: unknown, ...parts: unknown[]) => unknown

/** Calls `before` and `after` around a method of a prototype. */
function surround(prototype: object, name: string, before: CrashPoint, after: () => void): void {
  const methods = prototype as Record<string, Method>
  const method = methods[name]!
  methods[name] = function (...parts) {
    crashAt(before)
    const result = method.apply(this, parts)
    after()
    return result
  }
}

const emit = Server.prototype.emit as Method
Server.prototype.emit = function (this: unknown, event: string, ...parts: unknown[]) {
  const [request] = parts as [{ headers?: Record<string, string> } | undefined]
  if (event === 'request' && request?.headers?.['x-request-id'] === 'crash') {
    isArmed = true
    crashAt('received')
  }
  return emit.call(this, event, ...parts)
} as typeof Server.prototype.emit

/** Finds a class that the package does not export, beside one that it exports. */
async function classBeside<Name extends string>(
  door: string,
  file: string,
  name: Name,
): Promise<{ readonly prototype: object }> {
  const module: unknown = await import(new URL(file, import.meta.resolve(door)).href)
  return (module as Record<Name, { readonly prototype: object }>)[name]
}

const { prototype: batch } = await classBeside('@freshet/engines/lmdb', 'batch.js', 'Batch')
const { prototype: mark } = await classBeside('@freshet/engines/lmdb', 'durable-mark.js', 'DurableMark')
const { prototype: replies } = await classBeside('@freshet/server', 'http/replies.js', 'Replies')
surround(batch, 'apply', 'planned', () => {
  crashAt('handed over')
  // One turn later another thread is writing it; a fast disk may even have written and answered it by then.
  setImmediate(() => crashAt('writing'))
})
surround(mark, 'advance', 'flushed', () => {})
surround(replies, 'send', 'answering', () => {})
surround(ServerResponse.prototype, 'end', 'answer begun', () => setImmediate(() => crashAt('answered')))
