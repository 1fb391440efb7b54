/** What `deploy/` ships besides configurations of caches: the dashboard's metrics exist, and compose writes a valid VCL. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '@freshet/engines/under-test/free-port'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const deploy = join(root, 'deploy')
const command = fileURLToPath(new URL('../../../packages/cli/dist/freshet.js', import.meta.url))
const isLeftOut = reasonToSkip('varnish') !== undefined

let folder: string
const varnishes: ChildProcess[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-deploy-'))
  // Varnish reads as a user of its own.
  chmodSync(folder, 0o755)
})
afterEach(async () => {
  await endFreshetProcesses()
  for (const varnish of varnishes.splice(0)) {
    varnish.kill()
    if (varnish.exitCode === null) await once(varnish, 'exit')
  }
  rmSync(folder, { recursive: true, force: true })
})

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

test('the dashboard uses every existing metric, and no other', async () => {
  const caches = JSON.stringify([{ name: 'edge', kind: 'varnish', url: 'http://127.0.0.1:1' }])
  const server = await startFreshet(['serve', '--data', join(folder, 'data'), '--workers', '2'], {
    environment: { FRESHET_CACHES: caches },
  })
  const text = await (await fetch(`${server.url}/metrics`)).text()
  const there = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!)
  const { panels } = JSON.parse(readFileSync(join(deploy, 'grafana/freshet.json'), 'utf8')) as Dashboard
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  const asked = expressions.flatMap(expr => [...expr.matchAll(/freshet_\w+/g)].map(([name]) => name))
  const plain = new Set(asked.map(name => name.replace(/(freshet_request_seconds)_bucket$/, '$1')))
  expect([...plain].sort()).toEqual([...new Set(there)].sort())
  // The routes that it names are those under which the server counts.
  const routes = expressions.flatMap(expr => [...expr.matchAll(/route="([^"]+)"/g)].map(([, route]) => route))
  expect(new Set(routes)).toEqual(new Set(['/db/{namespace}/{bucket}/{id}', '/commit']))
})

test('Prometheus as shipped may read metrics, with the rule and the token that its configuration names, and nothing else', async () => {
  const text = readFileSync(join(deploy, 'prometheus/prometheus.yml'), 'utf8')
  const settingOf = (name: string) => new RegExp(`^ +${name}: (.*)$`, 'm').exec(text)![1]!
  const line = /^# {3}(metrics if .*)$/m.exec(text)![1]!
  const [, claims, tokenFile] = /^# {3}freshet token --sub prometheus --claims '(.*)' --expires 365d > (.*)$/m.exec(
    text,
  )!
  expect(settingOf('credentials_file')).toBe(tokenFile)
  const rules = join(folder, 'rules.access')
  writeFileSync(rules, `${line}\nbucket shop/orders\n  read if claim.role == "staff"\n`)
  const environment = { FRESHET_TOKEN_SECRET: 'a secret of at least thirty-two bytes' }
  const data = join(folder, 'data')
  const server = await startFreshet(['serve', '--data', data, '--workers', '1', '--rules', rules], { environment })
  const token = await runFreshet(['token', '--sub', 'prometheus', '--claims', claims!, '--expires', '365d'], {
    environment,
  })
  const headers = { authorization: `${settingOf('type')} ${token.output.trim()}` }
  const url = server.url + settingOf('metrics_path')
  expect((await fetch(url)).status).toBe(401)
  const scraped = await fetch(url, { headers })
  expect([scraped.status, await scraped.text()]).toEqual([200, expect.stringContaining('freshet_log_position')])
  expect((await fetch(`${server.url}/db/shop/orders/1`, { headers })).status).toBe(403)
})

test('the rules of compose are valid, and their examples hold', async () => {
  await run(process.execPath, [command, 'check', 'rules', join(deploy, 'docker/freshet.access')])
})

test('the image is built from the manifest of every workspace, like the lock file', () => {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { workspaces: string[] }
  const dockerfile = readFileSync(join(deploy, 'docker/Dockerfile'), 'utf8')
  const [build] = dockerfile.split('npm ci')
  const copied = [...build!.matchAll(/^COPY (.+) (\S+)$/gm)].flatMap(([, sources]) => sources!.split(' '))
  for (const workspace of workspaces) {
    const whole = workspace.replace(/\/\*$/, '')
    expect(copied, workspace).toContain(whole === workspace ? `${workspace}/package.json` : whole)
  }
  for (const source of copied.filter(each => !each.includes('*')))
    expect(existsSync(join(root, source)), source).toBe(true)
})

const hasSystemd = existsSync('/usr/bin/systemd-analyze')
if (!hasSystemd) console.warn('Not tested: the systemd unit. systemd-analyze is not installed.')

// Without a running systemd, only the analysis is possible.
test.skipIf(!hasSystemd)(
  'systemd finds no mistake in the unit, and its exposure is as docs/guides/operating.md says',
  async () => {
    const unit = join(deploy, 'systemd/freshet.service')
    const verified = await run('systemd-analyze', ['verify', unit])
    expect(verified.stderr).toBe('')
    const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', unit])
    const [, exposure] = /exposure level for freshet\.service: ([\d.]+)/.exec(stdout)!
    const operating = readFileSync(join(root, 'docs/guides/operating.md'), 'utf8')
    expect(operating).toContain(`exposure level ${exposure} of 10`)
  },
)

describe.skipIf(isLeftOut)('compose', () => {
  test('writes a VCL with the server and the networks, and purges need exactly the secret, whatever its characters', async () => {
    const compose = readFileSync(join(deploy, 'docker/compose.yaml'), 'utf8')
    const script = /command:\n {6}- \|\n((?: {8}.*\n)+)/.exec(compose)![1]!
    const target = join(folder, 'default.vcl')
    const made = script
      .replaceAll('$$', '$')
      .replace('/etc/varnish/freshet.vcl', join(deploy, 'varnish/freshet.vcl'))
      .replace('> /tmp/default.vcl', `> ${target}`)
      .replace(/exec varnishd.*/, '')
    await run('/bin/sh', ['-ec', made], { env: { PATH: process.env.PATH } })
    const vcl = readFileSync(target, 'utf8')
    expect(vcl).toContain('.host = "freshet"')
    expect(vcl).not.toMatch(/change-me|"127\.0\.0\.1"/)
    // That name is known only between containers, and here purges come from this machine.
    writeFileSync(
      target,
      vcl.replace('"freshet"', '"localhost"').replace('"10.0.0.0"/8;', '"10.0.0.0"/8; "127.0.0.1";'),
    )
    const secret = 'a|b&c"d\\e}$f%41'
    const purge = await startVarnish(target, secret)
    expect(await purge(secret)).toBe(200)
    for (const wrong of ['a-secret', 'a', '', 'a|b&c', secret.toUpperCase(), 'a|b&c"d\\e}$fA', 'PURGE_SECRET'])
      expect(await purge(wrong), wrong).toBe(403)
  })

  /** Starts Varnish with this VCL and this secret; returns a function that purges and resolves to the status. */
  async function startVarnish(vcl: string, secret: string): Promise<(secret: string) => Promise<number>> {
    const port = await freePort()
    const args = ['-F', '-f', vcl, '-a', `127.0.0.1:${port}`, '-n', join(folder, 'work')]
    const varnish = spawn('varnishd', args, { env: { PATH: process.env.PATH, PURGE_SECRET: secret }, stdio: 'ignore' })
    varnishes.push(varnish)
    const purge = async (given: string) =>
      (await fetch(`http://127.0.0.1:${port}/x`, { method: 'PURGE', headers: { 'Freshet-Purge-Secret': given } }))
        .status
    await expect.poll(() => purge('').catch(() => 0), { timeout: 60_000 }).toBe(403)
    return purge
  }
})
