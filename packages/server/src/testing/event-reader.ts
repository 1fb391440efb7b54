/** For tests: reads the events of a stream, one by one, as a client does. */
import { parseEvent } from '@freshet/core/coherence'
import type { ChangesEvent, StreamStart } from '@freshet/protocol'

export interface ReceivedEvent {
  readonly name: 'start' | 'message'
  readonly id: string | undefined
  readonly event: ChangesEvent & Partial<StreamStart>
}

export interface EventReader {
  /** The next event of this name; others are skipped. */
  next(name?: ReceivedEvent['name']): Promise<ReceivedEvent>
  /** Whether the server has ended the stream. */
  ended(): Promise<boolean>
  close(): void
}

export async function readEvents(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
  const controller = new AbortController()
  const response = await fetch(url, { headers, signal: controller.signal })
  if (!response.ok || !response.body) throw new Error(`${response.status} ${await response.text()}`)
  const stream = eventsOf(response.body)
  return {
    next: async name => {
      for (;;) {
        const { value, done } = await stream.next()
        if (done) throw new Error('the stream has ended')
        if (name === undefined || name === value.name) return value
      }
    },
    ended: async () => {
      for await (const _ of stream);
      return true
    },
    close: () => controller.abort(),
  }
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ReceivedEvent, undefined> {
  const decoder = new TextDecoder()
  let text = ''
  let before: ChangesEvent | undefined
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
      )
      const data = fields.get('data') ?? ''
      const isStart = fields.get('event') === 'start'
      if (!isStart && before === undefined) throw new Error(`${data} came before the start`)
      before = isStart ? (JSON.parse(data) as StreamStart) : parseEvent(data, before!)
      yield { name: isStart ? 'start' : 'message', id: fields.get('id'), event: before }
    }
  }
  return undefined
}
