/** For tests: reads server-sent events, one by one. */
export interface ReceivedEvent {
  readonly event: string
  readonly id: string | undefined
  readonly value: Record<string, unknown>
}

export interface EventReader {
  /** The next event of one of these names; others are passed over. */
  next(...names: string[]): Promise<ReceivedEvent>
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
    next: async (...names) => {
      for (;;) {
        const { value, done } = await stream.next()
        if (done) throw new Error('the stream has ended')
        if (names.length === 0 || names.includes(value.event)) return value
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
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      )
      const event = fields.get('event')
      if (event !== undefined) yield { event, id: fields.get('id'), value: JSON.parse(fields.get('data') ?? '{}') }
    }
  }
  return undefined
}
