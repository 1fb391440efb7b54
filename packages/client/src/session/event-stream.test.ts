import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readEvents, type ServerEvent } from './event-stream.js'

function streamOf(text: string, cuts: readonly number[]): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  const ends = [...new Set([...cuts.map(cut => cut % bytes.length), bytes.length])].sort((a, b) => a - b)
  return new ReadableStream({
    start(controller) {
      ends.forEach((end, i) => {
        if (end > (ends[i - 1] ?? 0)) controller.enqueue(bytes.slice(ends[i - 1] ?? 0, end))
      })
      controller.close()
    },
  })
}

async function collect(stream: ReadableStream<Uint8Array>): Promise<ServerEvent[]> {
  const events: ServerEvent[] = []
  for await (const event of readEvents(stream, () => {})) events.push(event)
  return events
}

test('events are the same wherever the network cuts them', async () => {
  const text =
    'retry: 1000\n\nid: 3\nevent: changes\ndata: {"to":3,"é":"鍵"}\n\n: a comment\n\nevent: start\ndata: 1\ndata: 2\n\ndata:bare\n\nevent: cut'
  const expected = [
    { event: 'changes', data: '{"to":3,"é":"鍵"}' },
    { event: 'start', data: '1\n2' },
    { event: 'message', data: 'bare' },
  ]
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(), { maxLength: 8 }), async cuts => {
      expect(await collect(streamOf(text, cuts))).toEqual(expected)
      expect(await collect(streamOf(text.replaceAll('\n', '\r\n'), cuts))).toEqual(expected)
    }),
  )
})
