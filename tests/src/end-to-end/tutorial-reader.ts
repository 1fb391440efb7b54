/** Follows a tutorial literally: saves its files, types its commands into a shell, and compares what they print with the page. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { blocksOf, type DocBlock, repository } from './doc-blocks.js'

/** The reader uses the server that runs already. */
const START = /^npm ci/
/** Commands that the reader leaves running. */
const LASTING = /^(?:node cache\.mjs|npx vite )/
const FILE = /^(?:\/\/|<!--) ([\w-]+\.(?:mjs|js|html))/
const PROMISED: readonly string[] = ['json', 'text']
const ADDRESS = /http:\/\/localhost:\d+/

export class TutorialReader {
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'freshet-tutorial-'))
  readonly #clone: string = join(this.#folder, 'freshet')
  /** The ports of the text, and those that the reader has instead. */
  readonly #ports: Readonly<Record<string, number>>
  readonly #running = new Map<string, ChildProcess>()
  #exports = ''
  #checked = 0
  /** The addresses that the commands have printed which are still running. */
  readonly addresses: Map<string, string> = new Map()

  constructor(ports: Readonly<Record<string, number>>) {
    this.#ports = ports
    mkdirSync(this.#clone)
    symlinkSync(join(repository, 'node_modules'), join(this.#clone, 'node_modules'))
    writeFileSync(join(this.#clone, 'package.json'), '{ "private": true }')
  }

  /** Saves files beside the clone, in the folder `into`, or else in the clone. Resolves with the number of outputs compared. */
  async follow(page: string, into?: string): Promise<number> {
    this.#exports = ''
    this.#checked = 0
    const blocks = blocksOf(page)
    for (const [i, block] of blocks.entries()) await this.#act(block, blocks[i + 1], into ?? 'freshet')
    return this.#checked
  }

  async stop(): Promise<void> {
    for (const child of this.#running.values()) {
      const ended = once(child, 'exit')
      process.kill(-child.pid!, 'SIGKILL')
      await ended
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #act({ text, language }: DocBlock, next: DocBlock | undefined, into: string): Promise<void> {
    const [, name] = FILE.exec(text) ?? []
    if (name !== undefined) writeFileSync(join(this.#folder, into, name), text)
    if (language !== 'sh' || START.test(text)) return
    if (LASTING.test(text)) await this.#leaveRunning(text.trim())
    else this.#compare(await this.#type(text), next)
  }

  async #type(text: string): Promise<string> {
    const { stdout } = await promisify(execFile)('bash', ['-ec', this.#asTyped(text)], { cwd: this.#clone })
    return stdout
  }

  /** In a shell in which the reader has run the `export` lines, with the reader's ports. */
  #asTyped(text: string): string {
    const exported = text.split('\n').filter(line => line.startsWith('export '))
    for (const [port, own] of Object.entries(this.#ports)) {
      for (const [i, line] of exported.entries()) exported[i] = line.replaceAll(port, `${own}`)
    }
    this.#exports += exported.map(line => `${line}\n`).join('')
    return this.#exports + text.replaceAll(/^export .*\n/gm, '')
  }

  /** Until the test ends. The second time, the command of the first time is still running. */
  async #leaveRunning(command: string): Promise<void> {
    const child = spawn('bash', ['-c', this.#asTyped(`exec ${command}`)], {
      ...{ cwd: this.#clone, detached: true, env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' } },
    })
    let printed = ''
    const listening = new Promise<void>(resolve => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (chunk: string) => {
          printed += chunk
          if (ADDRESS.test(printed)) resolve()
        })
      }
    })
    const ended = once(child, 'close')
    await Promise.race([listening, ended])
    if (!this.#running.has(command)) {
      expect(printed).toMatch(ADDRESS)
      this.#running.set(command, child)
      this.addresses.set(command, ADDRESS.exec(printed)![0])
    } else if (command.startsWith('node')) {
      expect(await ended).toEqual([1, null])
      expect(printed).toContain('Is the cache running already? Then use it.')
    } else process.kill(-child.pid!, 'SIGKILL')
  }

  #compare(printed: string, promised: DocBlock | undefined): void {
    if (!PROMISED.includes(promised?.language ?? '')) return
    this.#checked++
    if (promised!.language === 'text') expect(printed.replaceAll('\r', '').trimEnd()).toBe(promised!.text.trimEnd())
    else expect(shapeOf(JSON.parse(printed))).toEqual(shapeOf(JSON.parse(promised!.text)))
  }
}

/** Positions, request ids and explanations only need to be there. */
function shapeOf(value: object): unknown {
  const varying = ['version', 'position', 'requestId', 'detail', 'title']
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, varying.includes(name) ? typeof each : each]),
  )
}
