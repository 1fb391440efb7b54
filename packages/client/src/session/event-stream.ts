/**
 * Server-sent events read with `fetch`, which Node has and which, unlike EventSource, reports why it failed. It follows the
 * HTML standard (9.2.6), except for lone carriage returns, which the server does not send.
 */
export interface ServerEvent {
  readonly event: string
  readonly data: string
}

/** Ends when the stream does. `onLife` is called whenever anything at all arrives. */
export async function* readEvents(
  stream: ReadableStream<Uint8Array>,
  onLife: () => void,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onLife()
      const blocks = (text + decoder.decode(value, { stream: true })).replaceAll('\r\n', '\n').split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = parseBlock(block)
        if (event.data !== '') yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function parseBlock(block: string): ServerEvent {
  let event = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []
    if (name === 'event') event = value
    else if (name === 'data') data.push(value)
  }
  return { event, data: data.join('\n') }
}
