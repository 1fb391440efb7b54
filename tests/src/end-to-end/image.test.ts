/**
 * The container image: a linter finds no mistake in its Dockerfile, and its steps make a server that runs. With an engine at hand,
 * the engine builds it.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '@freshet/engines/under-test/free-port'
import { validate } from 'dockerfile-utils'
import { afterAll, expect, test } from 'vitest'
import { buildImage } from './image-steps.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const dockerfile = join(root, 'deploy/docker/Dockerfile')
const rules = join(root, 'deploy/docker/freshet.access')
const folder = mkdtempSync(join(tmpdir(), 'freshet-image-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a linter finds no mistake in the Dockerfile, and would find one', () => {
  const text = readFileSync(dockerfile, 'utf8')
  const mistakesIn = (each: string) => validate(each).map(({ message }) => message)
  expect(mistakesIn(text)).toEqual([])
  expect(mistakesIn(text.replace('--interval=', '--intervall='))).toEqual(['Unknown flag: intervall'])
})

test('its steps build a server that runs, reports its health, and stops on its stop signal', async () => {
  const environment = { PATH: process.env.PATH, HOME: process.env.HOME, npm_config_prefer_offline: 'true' }
  const image = buildImage({ dockerfile, context: root, folder, environment })
  // The image runs it as root, in the container.
  expect(image.notRun).toEqual(['mkdir /data && chown node:node /data'])
  mkdirSync(join(image.root, 'data'))
  const port = await freePort()
  const env = {
    ...{ ...environment, ...image.environment, FRESHET_DATA: image.root + image.environment.FRESHET_DATA },
    // As compose.yaml has them, but for this machine alone.
    ...{
      FRESHET_HOST: '127.0.0.1',
      FRESHET_PORT: `${port}`,
      FRESHET_RULES: rules,
      FRESHET_TOKEN_SECRET: 'x'.repeat(32),
    },
  }
  const [program, ...args] = image.command as [string, ...string[]]
  const server = spawn(program, args, { cwd: image.workingFolder, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(server, 'exit')
  const isHealthy = () => {
    const [program, ...args] = image.healthCheck.map(word => word.replace('7700', `${port}`)) as [string, ...string[]]
    return run(program, args).then(
      () => true,
      () => false,
    )
  }
  try {
    await expect.poll(isHealthy, { timeout: 60_000 }).toBe(true)
    expect((await fetch(`http://127.0.0.1:${port}/db/shop/products/none`)).status).toBe(404)
  } finally {
    server.kill(image.stopSignal as NodeJS.Signals)
  }
  expect(await ended).toEqual([0, null])
  expect(await isHealthy()).toBe(false)
})

const engine = await findEngine()
if (engine === undefined) {
  console.warn(
    'The image is linted and its steps are followed. No engine builds it: neither docker nor podman runs here.',
  )
} else {
  test('a container engine builds the image, and its container becomes healthy', async () => {
    const tag = `freshet-test-${process.pid}`
    await run(engine, ['build', '--file', dockerfile, '--tag', tag, root], { maxBuffer: 64 * 1024 * 1024 })
    const args = ['run', '--detach', '--rm', '--read-only', '--tmpfs', '/tmp', '--publish', '127.0.0.1::7700']
    const options = ['--volume', `${rules}:/etc/freshet.access:ro`, '--env', 'FRESHET_RULES=/etc/freshet.access']
    const secret = ['--env', `FRESHET_TOKEN_SECRET=${'x'.repeat(32)}`]
    const { stdout } = await run(engine, [...args, ...options, ...secret, tag])
    try {
      const published = (await run(engine, ['port', stdout.trim(), '7700'])).stdout.trim()
      const isReady = () =>
        fetch(`http://${published}/ready`).then(
          ({ ok }) => ok,
          () => false,
        )
      await expect.poll(isReady, { timeout: 60_000 }).toBe(true)
    } finally {
      await run(engine, ['rm', '--force', stdout.trim()])
      await run(engine, ['rmi', '--force', tag])
    }
  }, 900_000)
}

/** One that is installed and can build. */
async function findEngine(): Promise<string | undefined> {
  for (const each of ['docker', 'podman']) {
    const isRunning = await run(each, ['info']).then(
      () => true,
      () => false,
    )
    if (isRunning) return each
  }
  return undefined
}
