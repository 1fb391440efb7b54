/** The `freshet` command: what it accepts, what it refuses and how, and how it stops. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { endFreshetProcesses, isRunning, runFreshet, startFreshet } from './freshet-process.js'

let folder: string
let data: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-command-'))
  // Other users need access: some tests run the command as another user.
  chmodSync(folder, 0o755)
  data = join(folder, 'data')
})

afterEach(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})

describe('a wrong command line or configuration', () => {
  test.each([
    [['serv'], '"serv" is not a command. Did you mean "serve"?'],
    [['dev', '--prot', '1'], '--prot is not an option. Did you mean --port?'],
    [['dev', '7700'], 'There is no argument "7700". Options begin with two dashes.'],
    [['dev', '--port', '99999'], '--port takes a port from 0 (any free port) to 65535, not "99999".'],
    [['serve', '--durability', 'dsik'], '--durability takes disk or relaxed, not "dsik". Did you mean "disk"?'],
    [['serve', '--workers', '0'], '--workers takes a whole number from 1 to 256, not "0".'],
    [['serve', '--config', 'no.json'], 'The config file no.json does not exist. Correct --config, or leave it out.'],
  ])('%j is refused in one line, with exit code 2', async (args, line) => {
    expect(await runFreshet(args, { cwd: folder })).toEqual({ exitCode: 2, output: '', errors: `${line}\n` })
  })

  test.each([
    ['{ "prot": 1 }', 'freshet.json has the key "prot", which is not an option. Did you mean "port"?\n'],
    ['[]', 'The config file freshet.json must hold one object, such as { "port": 7700 }.\n'],
    ['{', 'The config file freshet.json is not JSON: '],
    ['{"port":1,"port":2}', 'The config file freshet.json has "port" twice in one object.'],
  ])('the file %s is refused', async (content, line) => {
    writeFileSync(join(folder, 'freshet.json'), content)
    const { exitCode, errors } = await runFreshet(['serve'], { cwd: folder })
    expect(exitCode).toBe(2)
    expect(errors.startsWith(line)).toBe(true)
    expect(errors.split('\n')).toHaveLength(2)
  })

  test('a mistyped variable is refused', async () => {
    const { exitCode, errors } = await runFreshet(['serve'], { environment: { FRESHET_PROT: '1' } })
    expect({ exitCode, errors }).toEqual({
      exitCode: 2,
      errors: 'The variable FRESHET_PROT is not an option. Did you mean FRESHET_PORT?\n',
    })
  })
})

describe('the configuration', () => {
  async function dump(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const { exitCode, output } = await runFreshet(['config', ...args, '--dump'], { cwd: folder, environment })
    expect(exitCode).toBe(0)
    return new Map(
      output
        .trimEnd()
        .split('\n')
        .map(line => line.split(/\s{2,}/) as [string, string, string])
        .map(([name, value, origin]) => [name, `${value} ${origin}`]),
    )
  }

  test('is dumped with the origin of each value: flags override variables, then the file, then defaults', async () => {
    writeFileSync(join(folder, 'freshet.json'), '{ "port": 1, "host": "a.example", "workers": 3, "lifetimeMs": "5m" }')
    const values = await dump(['--port', '3'], { FRESHET_PORT: '2', FRESHET_HOST: '0.0.0.0', PORT: '4' })
    expect(Object.fromEntries(values)).toMatchObject({
      port: '3 --port',
      host: '0.0.0.0 FRESHET_HOST',
      workers: '3 freshet.json',
      lifetimeMs: '5m freshet.json',
      durability: 'disk default',
    })
  })

  test('of dev differs from that of serve', async () => {
    expect((await dump(['dev'])).get('page')).toBe('true default')
    expect((await dump(['serve'])).get('page')).toBe('false default')
  })

  test('can be checked without a dump', async () => {
    expect((await runFreshet(['config'], { cwd: folder })).output).toMatch(/^The configuration is valid\./)
  })

  test('from the environment reaches the server', async () => {
    const environment = { FRESHET_DATA: data, FRESHET_LOG_FORMAT: 'json', FRESHET_LOG_LEVEL: 'request' }
    const server = await startFreshet(['serve'], { environment })
    expect(server.output()).toContain(`"data":"${data}"`)
  })
})

test('help and version go to standard output', async () => {
  expect((await runFreshet(['--help'])).output).toContain('freshet serve')
  expect((await runFreshet(['--version'])).output).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('dev prints its address and examples, and puts samples into a new store only', async () => {
  const server = await startFreshet(['dev', '--data', data])
  const lines = server.output().trimEnd().split('\n')
  expect(lines).toHaveLength(4)
  expect(lines[0]).toBe(`Freshet: http://localhost:${server.port} (Ctrl-C stops it); data in ${data}`)
  expect(lines[3]).toContain(`curl -i http://localhost:${server.port}/db/shop/products/tea`)
  const tea = `${server.url}/db/shop/products/tea`
  expect(await (await fetch(tea)).json()).toEqual({ name: 'Green tea', price: 12 })
  expect((await fetch(tea, { method: 'DELETE' })).status).toBe(200)
  expect(await server.stop()).toBe(0)
  const again = await startFreshet(['dev', '--data', data])
  expect((await fetch(`${again.url}/db/shop/products/tea`)).status).toBe(404)
})

describe.each([1, 2])('with %i workers, an obstacle is reported in one line', workers => {
  const serve = (...more: string[]) => ['serve', '--workers', String(workers), '--data', data, ...more]

  test('a port in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const { exitCode, errors } = await runFreshet(serve('--port', String(port)))
    taken.close()
    expect(errors).toBe(
      `PORT_IN_USE: Another program uses port ${port}. Choose another port: freshet serve --port ${(port % 65_535) + 1}\n`,
    )
    expect(exitCode).toBe(1)
  })

  test('a port or a folder of another Freshet server, with the address of that server', async () => {
    const first = await startFreshet(serve())
    const [address, next] = [`http://localhost:${first.port}`, (first.port % 65_535) + 1]
    const samePort = await runFreshet([
      'serve',
      '--workers',
      `${workers}`,
      '--data',
      join(folder, 'other'),
      '--port',
      `${first.port}`,
    ])
    expect(samePort).toMatchObject({
      exitCode: 1,
      errors: expect.stringMatching(`^PORT_IN_USE: .* at ${address}\\. .* --port ${next}\n$`),
    })
    const sameFolder = await runFreshet(serve('--port', `${first.port}`))
    expect(sameFolder.errors).toMatch(
      new RegExp(`^STORE_LOCKED: .* process ${first.pid}\\. .* at ${address}: .* --port ${next} --data \\S+\n$`),
    )
    expect(sameFolder.exitCode).toBe(1)
  })

  test('a folder that another server has open', async () => {
    const first = await startFreshet(serve())
    const { exitCode, errors } = await runFreshet(serve('--port', '0'))
    expect(errors).toBe(
      `STORE_LOCKED: The store at ${data} is open in process ${first.pid}. Stop it, or choose another path with --data.\n`,
    )
    expect(exitCode).toBe(1)
    expect((await fetch(`${first.url}/live`)).ok).toBe(true)
  })

  test('a file where the folder should be', async () => {
    writeFileSync(data, '')
    const { exitCode, errors } = await runFreshet(serve('--port', '0'))
    expect(errors).toMatch(new RegExp(`^.*${data}.* file.*folder.*\n$`))
    expect(exitCode).toBe(1)
  })

  test('an address that this machine does not have', async () => {
    const { exitCode, errors } = await runFreshet(serve('--port', '7700', '--host', '192.0.2.1', '--insecure'))
    expect(errors).toBe('This machine has no address 192.0.2.1 to listen on. Correct --host, or leave it out.\n')
    expect(exitCode).toBe(1)
  })

  test('a folder without write permission', async () => {
    mkdirSync(data)
    chmodSync(data, 0o555)
    // Root may write everywhere, so root switches to an unprivileged user.
    const options = process.getuid?.() === 0 ? { uid: 65_534 } : {}
    const { exitCode, errors } = await runFreshet(serve('--port', '0'), options)
    expect(errors).toMatch(new RegExp(`^.*${data}.* may not write.*\n$`))
    expect(exitCode).toBe(1)
  })
})

describe.each([1, 2])('Ctrl-C with %i workers', workers => {
  const args = () => ['serve', '--workers', String(workers), '--data', data]

  /** A PUT of which the server has the headers and half of the body. */
  async function beginWrite(url: string) {
    const body = JSON.stringify({ text: 'x'.repeat(100) })
    const headers = { 'content-type': 'application/json', 'content-length': body.length, expect: '100-continue' }
    const sent = request(`${url}/db/shop/products/slow`, { method: 'PUT', headers })
    const answer = once(sent, 'response').then(async ([response]) => ({
      status: response.statusCode,
      body: JSON.parse(await text(response)),
    }))
    // A write that is cut off must not be an unhandled rejection.
    answer.catch(() => undefined)
    sent.flushHeaders()
    await once(sent, 'continue')
    sent.write(body.slice(0, 50))
    return { answer, finish: () => sent.end(body.slice(50)), abandon: () => sent.destroy() }
  }

  test('lets a request under way finish, takes no new ones, and loses nothing', async () => {
    const server = await startFreshet(args())
    const workerPids = server.workers()
    const write = await beginWrite(server.url)
    server.signal('SIGINT')
    await expect
      .poll(() =>
        fetch(`${server.url}/live`).then(
          () => 'taken',
          () => 'refused',
        ),
      )
      .toBe('refused')
    write.finish()
    const { status, body } = await write.answer
    expect(status).toBe(201)
    expect(await server.ended).toEqual({ exitCode: 0, errors: '' })
    expect(workerPids.filter(isRunning)).toEqual([])
    const again = await startFreshet(args())
    const found = await fetch(`${again.url}/db/shop/products/slow`)
    expect(found.headers.get('etag')).toBe(`"${body.version}"`)
  })

  test('cuts off a request that does not finish in time', async () => {
    const server = await startFreshet([...args(), '--stop-ms-max', '300ms'])
    const write = await beginWrite(server.url)
    server.signal('SIGTERM')
    await expect(write.answer).rejects.toThrow()
    expect((await server.ended).exitCode).toBe(0)
  })

  test('a second Ctrl-C forces the exit', async () => {
    const server = await startFreshet(args())
    const workerPids = server.workers()
    const write = await beginWrite(server.url)
    // npm passes on two signals that come together as one, so it takes a while until one counts as the second.
    const isForced = () => {
      server.signal('SIGINT')
      return !isRunning(server.pid)
    }
    await vi.waitUntil(isForced, { timeout: 30_000 })
    expect((await server.ended).exitCode).toBe(130)
    await expect.poll(() => workerPids.filter(isRunning)).toEqual([])
    write.abandon()
  })

  test('is not delayed by an event stream or an idle connection', async () => {
    // If delayed, the server would be killed: stopping may take longer than the test waits for it.
    const server = await startFreshet([...args(), '--stop-ms-max', '10m'])
    const events = await fetch(`${server.url}/coherence/events`)
    expect(await server.stop()).toBe(0)
    await events.body?.cancel().catch(() => undefined)
  })
})

/** Mounts a small disk; undefined without permission to mount. */
function mountSmallDisk(at: string, sizeKib: number): (() => void) | undefined {
  try {
    mkdirSync(at)
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeKib}k`, 'tmpfs', at], { stdio: 'ignore' })
    return () => execFileSync('umount', ['-l', at])
  } catch {
    console.warn('Skipped: the test of a full disk, because only root can mount one.')
    return undefined
  }
}

test('a full disk refuses writes, keeps answering reads, and accepts writes again with space', async context => {
  const disk = join(folder, 'disk')
  const unmount = mountSmallDisk(disk, 768)
  if (!unmount) return context.skip()
  try {
    const server = await startFreshet(['serve', '--workers', '1', '--data', join(disk, 'data')])
    const put = (id: string) =>
      fetch(`${server.url}/db/shop/products/${id}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ text: 'x'.repeat(20_000) }),
      })
    expect((await put('first')).status).toBe(201)
    let last: Response | undefined
    for (let i = 0; i < 100 && (last === undefined || last.ok); i++) last = await put(`p${i}`)
    expect(await last!.json()).toMatchObject({ status: 507, code: 'STORE_FULL' })
    expect((await fetch(`${server.url}/db/shop/products/first`)).status).toBe(200)
    execFileSync('mount', ['-o', 'remount,size=4096k', disk])
    await expect.poll(async () => (await put('later')).status).toBe(201)
    expect(await server.stop()).toBe(0)
  } finally {
    await endFreshetProcesses()
    unmount()
  }
})

test('a disk that is full from the start is reported in one line', async context => {
  const disk = join(folder, 'disk')
  const unmount = mountSmallDisk(disk, 16)
  if (!unmount) return context.skip()
  try {
    const { exitCode, errors } = await runFreshet([
      'serve',
      '--workers',
      '1',
      '--port',
      '0',
      '--data',
      join(disk, 'data'),
    ])
    expect(errors).toMatch(/^.*(no space|full).*\n$/i)
    expect(exitCode).toBe(1)
  } finally {
    unmount()
  }
})

test.each([['1'], ['2']])('with compact memory, %s workers know only that an operation was done', async workers => {
  const args = ['serve', '--data', data, '--workers', workers, '--operation-memory', 'compact']
  const send = async (url: string, key: string) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    const answer = await fetch(`${url}/db/shop/views/a`, { method: 'POST', headers, body: '{"add":1}' })
    return { status: answer.status, ...((await answer.json()) as { value?: number; code?: string }) }
  }
  let freshet = await startFreshet(args)
  const settings = {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: '{"kind":"counter","min":0}',
  }
  await fetch(`${freshet.url}/db/shop/views`, settings)
  expect(await send(freshet.url, 'first')).toMatchObject({ status: 200, value: 1 })
  expect(await send(freshet.url, 'first')).toMatchObject({ status: 409, code: 'OPERATION_SEEN' })
  await freshet.kill()
  freshet = await startFreshet(args)
  expect(await send(freshet.url, 'first')).toMatchObject({ status: 409, code: 'OPERATION_SEEN' })
  expect(await send(freshet.url, 'second')).toMatchObject({ status: 200, value: 2 })
  const counts = await (await fetch(`${freshet.url}/idempotency`)).json()
  expect(counts).toMatchObject({ mode: 'compact', foreign: 2, retentionMs: 86_400_000 })
})
