import { expect, test } from 'vitest'
import { SharedFlights } from './shared-flights.js'

function scene() {
  const flights = new SharedFlights<string>()
  const started: AbortSignal[] = []
  let finish: (text: string) => void = () => {}
  const start = (signal: AbortSignal) => {
    started.push(signal)
    return new Promise<string>((resolve, reject) => {
      finish = resolve
      signal.addEventListener('abort', () => reject(new Error('aborted')))
    })
  }
  return { flights, started, start, finish: (text: string) => finish(text) }
}

test('callers that ask during a flight share it, later callers do not', async () => {
  const { flights, started, start, finish } = scene()
  const { signal } = new AbortController()
  const both = [flights.join('a', signal, start), flights.join('a', signal, start)]
  finish('done')
  expect(await Promise.all(both)).toEqual(['done', 'done'])
  const later = flights.join('a', signal, start)
  expect(started).toHaveLength(2)
  finish('again')
  expect(await later).toBe('again')
})

test('a flight is aborted when its last caller gives up, and not before; the next caller starts a new one', async () => {
  const { flights, started, start } = scene()
  const [one, two] = [new AbortController(), new AbortController()]
  const reads = [flights.join('a', one.signal, start), flights.join('a', two.signal, start)]
  one.abort(new Error('one'))
  await expect(reads[0]).rejects.toThrow('one')
  expect(started[0]!.aborted).toBe(false)
  two.abort(new Error('two'))
  await expect(reads[1]).rejects.toThrow('two')
  expect(started[0]!.aborted).toBe(true)
  flights.join('a', new AbortController().signal, start).catch(() => {})
  expect(started).toHaveLength(2)
})

test('a flight is not aborted once it has ended', async () => {
  const { flights, started, start, finish } = scene()
  const read = flights.join('a', new AbortController().signal, start)
  finish('done')
  await read
  expect(started[0]!.aborted).toBe(false)
})

test('a failure rejects all waiting callers', async () => {
  const flights = new SharedFlights<string>()
  const { signal } = new AbortController()
  const fail = async () => {
    throw new Error('no')
  }
  const reads = [flights.join('a', signal, fail), flights.join('a', signal, fail)]
  for (const read of reads) await expect(read).rejects.toThrow('no')
})
