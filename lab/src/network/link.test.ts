import { once } from 'node:events'
import { createServer, connect as open, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Conditions } from './conditions.js'
import { type Link, startLink } from './link.js'
import { startRemoteLink } from './remote-link.js'

const atEnd: (() => Promise<unknown> | unknown)[] = []

afterEach(async () => {
  for (const end of atEnd.splice(0).reverse()) await end()
})

interface Scene {
  readonly link: Link
  readonly server: Server
  /** The server's ends of the connections, in order of arrival. */
  readonly accepted: Socket[]
}

/** A link to a server, which echoes unless `serve` is given. */
async function scene(conditions: Partial<Conditions> & { seed?: number }, serve = echo): Promise<Scene> {
  const accepted: Socket[] = []
  const server = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
    socket.on('error', () => {})
    accepted.push(socket)
    serve(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const link = await startLink({ target: `http://127.0.0.1:${port}`, ...conditions })
  atEnd.push(
    () => new Promise(resolve => server.close(resolve)),
    () => {
      for (const socket of accepted) socket.destroy()
    },
    () => link.stop(),
  )
  return { link, server, accepted }
}

function echo(socket: Socket): void {
  socket.pipe(socket)
}

async function connectTo({ url }: { url: string }): Promise<Socket> {
  const socket = open({ port: Number(new URL(url).port), host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
  socket.on('error', () => {})
  atEnd.push(() => socket.destroy())
  await Promise.race([new Promise(resolve => socket.once('connect', resolve)), closed(socket)])
  return socket
}

/** Resolves when the socket is closed, for whatever reason. */
function closed(socket: Socket): Promise<unknown> {
  return socket.closed ? Promise.resolve() : new Promise(resolve => socket.once('close', resolve))
}

/** The time until an echo arrives. */
async function pingMs(socket: Socket): Promise<number> {
  const beganMs = performance.now()
  socket.write('ping')
  await once(socket, 'data')
  return performance.now() - beganMs
}

/** Measured after a first ping, which is slower. */
async function pingTimes(socket: Socket, count: number): Promise<number[]> {
  await pingMs(socket)
  const times: number[] = []
  for (let i = 0; i < count; i++) times.push(await pingMs(socket))
  return times
}

/** Resolves with true once the condition holds. Polls for as long as the test may take. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 5))
}

/** Takes longer than the held-back bytes would take if nothing held them back. */
async function aRoundTripElsewhere(): Promise<void> {
  const { link } = await scene({ delayMs: 50 })
  await pingMs(await connectTo(link))
}

describe('a link', () => {
  it('delays each direction, and a new connection by another round trip', async () => {
    const { link } = await scene({ delayMs: 40 })
    const beganMs = performance.now()
    const socket = await connectTo(link)
    await pingMs(socket)
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(160)
    for (let i = 0; i < 3; i++) expect(await pingMs(socket)).toBeGreaterThanOrEqual(80)
  })

  it('is slower with a longer delay', async () => {
    const near = await connectTo((await scene({ delayMs: 10 })).link)
    const far = await connectTo((await scene({ delayMs: 60 })).link)
    const medianOf = async (socket: Socket) => {
      return (await pingTimes(socket, 9)).sort((one, other) => one - other)[4]!
    }
    expect((await medianOf(far)) / (await medianOf(near))).toBeGreaterThan(1.5)
  })

  it('adds jitter, drawn for each chunk, and keeps the order within a connection', async () => {
    const { link } = await scene({ delayMs: 5, jitterMs: 40 })
    const socket = await connectTo(link)
    const times = await pingTimes(socket, 10)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(10)
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(5)
    const sent = Array.from({ length: 300 }, (_, i) => `${i};`)
    let got = ''
    socket.on('data', chunk => {
      got += chunk
    })
    for (const text of sent) {
      socket.write(text)
      await new Promise(resolve => setImmediate(resolve))
    }
    await until(() => got.length >= sent.join('').length)
    expect(got).toBe(sent.join(''))
  })

  it('lets one connection overtake another', async () => {
    const { link } = await scene({ delayMs: 1, jitterMs: 60, seed: 3 })
    const sockets = await Promise.all(Array.from({ length: 20 }, () => connectTo(link)))
    await Promise.all(sockets.map(pingMs))
    const order: number[] = []
    await Promise.all(sockets.map((socket, i) => pingMs(socket).then(() => order.push(i))))
    expect(order).not.toEqual([...order].sort((one, other) => one - other))
  })

  it('carries the given number of bytes a second, over all connections together', async () => {
    const { link } = await scene({ bytesPerSecond: 1_000_000 })
    const beganMs = performance.now()
    const one = async () => {
      const socket = await connectTo(link)
      let got = 0
      socket.on('data', chunk => {
        got += chunk.length
      })
      socket.end(Buffer.alloc(50_000))
      await until(() => got === 50_000)
    }
    await Promise.all([one(), one(), one(), one()])
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(200)
  })

  it('delays a lost packet by a round trip', async () => {
    const { link } = await scene({ delayMs: 20, lossRate: 0.3 })
    const times = await pingTimes(await connectTo(link), 20)
    const late = times.filter(time => time >= 80)
    expect(late.length).toBeGreaterThan(2)
    expect(late.length).toBeLessThan(20)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(40)
  })

  it('can be changed while it runs', async () => {
    const { link } = await scene({})
    const socket = await connectTo(link)
    await pingMs(socket)
    link.change({ delayMs: 70 })
    expect(await pingMs(socket)).toBeGreaterThanOrEqual(140)
    expect(link.conditions.delayMs).toBe(70)
    expect(() => link.change({ lossRate: 2 })).toThrow('lossRate must be from 0 to 1')
    expect(() => link.change({ delay: 2 } as object)).toThrow('A link has no condition delay')
  })

  it('repeats the same events from the same seed', async () => {
    const lateOnes = async (seed: number) => {
      const { link } = await scene({ refuseRate: 0.5, seed })
      const fates: boolean[] = []
      for (let i = 0; i < 20; i++) {
        const socket = await connectTo(link)
        socket.write('ping')
        const came = new Promise<boolean>(resolve => socket.once('data', () => resolve(true)))
        fates.push(await Promise.race([came, closed(socket).then(() => false)]))
      }
      return fates
    }
    const fates = await lateOnes(7)
    expect(new Set(fates).size).toBe(2)
    expect(await lateOnes(7)).toEqual(fates)
    expect(await lateOnes(8)).not.toEqual(fates)
  })
})

describe('a cut link', () => {
  it('holds everything back without notice, and delivers all of it when it is repaired', async () => {
    const { link } = await scene({ delayMs: 5 })
    const socket = await connectTo(link)
    await pingMs(socket)
    link.cut()
    let got = ''
    socket.on('data', chunk => {
      got += chunk
    })
    socket.write('one ')
    await aRoundTripElsewhere()
    socket.write('two')
    await aRoundTripElsewhere()
    expect(got).toBe('')
    expect(socket.closed).toBe(false)
    link.mend()
    await until(() => got === 'one two')
  })

  it('in one direction still carries the other', async () => {
    const { link, accepted } = await scene({ delayMs: 5 })
    const socket = await connectTo(link)
    await pingMs(socket)
    link.cut('down')
    let reached = ''
    accepted[0]!.on('data', chunk => {
      reached += chunk
    })
    let got = ''
    socket.on('data', chunk => {
      got += chunk
    })
    socket.write('up')
    await until(() => reached === 'up')
    await aRoundTripElsewhere()
    expect(got).toBe('')
    link.mend()
    await until(() => got === 'up')
  })

  it('makes new connections wait until it is repaired', async () => {
    const { link } = await scene({})
    link.cut()
    const socket = await connectTo(link)
    const ping = pingMs(socket)
    await aRoundTripElsewhere()
    link.mend()
    expect(await ping).toBeGreaterThanOrEqual(100)
  })
})

describe('a connection', () => {
  it('is half-closed: the end is passed on, and bytes in the other direction still arrive', async () => {
    const { link } = await scene({ delayMs: 5 }, socket => {
      socket.resume()
      socket.once('end', () => socket.end('all of it'))
    })
    const socket = await connectTo(link)
    let got = ''
    socket.on('data', chunk => {
      got += chunk
    })
    socket.end('that was all')
    await once(socket, 'end')
    expect(got).toBe('all of it')
    await until(() => link.counts.open === 0)
  })

  it('is half-open when one end dies and the other is not notified', async () => {
    const { link, accepted } = await scene({ delayMs: 5 })
    const socket = await connectTo(link)
    await pingMs(socket)
    link.abandon('server')
    await closed(accepted[0]!)
    socket.write('are you still there?')
    await aRoundTripElsewhere()
    expect(socket.closed).toBe(false)
    expect(socket.readableEnded).toBe(false)
  })

  it('that was reset at one end is reset at the other', async () => {
    const { link, accepted } = await scene({ delayMs: 5 })
    const socket = await connectTo(link)
    await pingMs(socket)
    const failed = once(socket, 'error').catch(error => [error])
    accepted[0]!.resetAndDestroy()
    const [error] = await failed
    expect((error as NodeJS.ErrnoException).code).toBe('ECONNRESET')
  })

  it('is reset, or falls silent, at the given rates', async () => {
    const { link } = await scene({ resetRate: 0.2, blackHoleRate: 0.2 })
    const fateOf = async (): Promise<'reset' | 'silent' | 'spared'> => {
      const socket = await connectTo(link)
      for (let i = 0; i < 20; i++) {
        const came = new Promise<'came'>(resolve => socket.once('data', () => resolve('came')))
        const reset = closed(socket).then(() => 'reset' as const)
        socket.write('ping')
        const fate = await Promise.race([came, reset, aRoundTripElsewhere().then(() => 'silent' as const)])
        if (fate !== 'came') return fate
      }
      return 'spared'
    }
    const fates = await Promise.all(Array.from({ length: 10 }, fateOf))
    expect(new Set(fates)).toEqual(new Set(['reset', 'silent']))
  })

  it('passes nothing on to a reader that does not read, and stops the writer', async () => {
    const { link, accepted } = await scene({ delayMs: 1 }, socket => socket.pause())
    const socket = await connectTo(link)
    const chunk = Buffer.alloc(1024 * 1024)
    let written = 0
    // 256 MiB would fit into none of the system's buffers.
    while (written < 256 && socket.write(chunk)) written++
    await aRoundTripElsewhere()
    await aRoundTripElsewhere()
    const sent = () => socket.bytesWritten - socket.writableLength
    for (let i = 0; i < 64; i++) socket.write(chunk)
    let before = -1
    while (sent() !== before) {
      before = sent()
      await aRoundTripElsewhere()
    }
    expect(socket.writableLength).toBeGreaterThan(16 * chunk.length)
    let got = 0
    accepted[0]!.on('data', part => {
      got += part.length
    })
    accepted[0]!.resume()
    socket.end()
    await until(() => got === (written + (written < 256 ? 1 : 0) + 64) * chunk.length)
  })

  it('keeps the bytes of many connections apart', async () => {
    const { link } = await scene({ delayMs: 20, jitterMs: 10, lossRate: 0.01 })
    const one = async (_: unknown, i: number) => {
      const socket = await connectTo(link)
      const sent = Buffer.alloc(100_000, i % 256)
      const got: Buffer[] = []
      socket.on('data', chunk => got.push(chunk))
      socket.end(sent)
      await once(socket, 'end')
      return Buffer.concat(got).equals(sent)
    }
    const areWhole = await Promise.all(Array.from({ length: 200 }, one))
    expect(areWhole.every(Boolean)).toBe(true)
    expect(link.counts).toMatchObject({ connections: 200, upBytes: 20_000_000, downBytes: 20_000_000 })
  })
})

describe('a link in its own process', () => {
  it('delays, counts, and can be changed, cut and repaired', async () => {
    const { server } = await scene({})
    const target = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    const link = await startRemoteLink({ target, delayMs: 10, bytesPerSecond: Number.POSITIVE_INFINITY })
    atEnd.push(() => link.stop())
    const beganMs = performance.now()
    const socket = await connectTo(link)
    await pingMs(socket)
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(40)
    await link.change({ delayMs: 40 })
    expect(await pingMs(socket)).toBeGreaterThanOrEqual(80)
    await link.cut()
    const held = pingMs(socket)
    await aRoundTripElsewhere()
    await link.mend()
    expect(await held).toBeGreaterThanOrEqual(100)
    expect(await link.counts()).toEqual({ connections: 1, open: 1, upBytes: 12, downBytes: 12 })
  })
})
