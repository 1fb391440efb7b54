import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startChild } from './child-contender.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'freshet-child-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** A child that answers as `hostInChild` does, written by hand: a process cannot run these sources. */
async function childModule(name: string, onRound: string): Promise<URL> {
  const path = join(folder, `${name}.mjs`)
  const source = `process.on('message', message => {
    if (message.kind === 'prepare') process.send({ answer: { pid: process.pid, ...message.settings } })
    else { ${onRound} }
  })
  process.on('disconnect', () => process.exit())`
  await writeFile(path, source)
  return pathToFileURL(path)
}

describe('a contender in a child process', () => {
  it('is prepared with its settings and measures in a process of its own', async () => {
    const module = await childModule('good', 'process.send({ answer: { add: 12.5 } })')
    const contender = await startChild<{ pid: number; keys: number }, 'add'>({
      name: 'good',
      module,
      settings: { keys: 3 },
    })
    expect(contender.details.keys).toBe(3)
    expect(contender.details.pid).not.toBe(process.pid)
    expect(await contender.round()).toEqual({ add: 12.5 })
    await contender.stop()
    expect(() => process.kill(contender.details.pid, 0)).toThrow('ESRCH')
  })

  it('passes its failure on', async () => {
    const module = await childModule('failing', `process.send({ failure: 'out of bits' })`)
    const contender = await startChild({ name: 'failing', module, settings: {} })
    await expect(contender.round()).rejects.toThrow('failing failed in its process:\nout of bits')
    await contender.stop()
  })

  it('is reported when it ends early', async () => {
    const module = await childModule('dying', 'process.exit(3)')
    const contender = await startChild({ name: 'dying', module, settings: {} })
    await expect(contender.round()).rejects.toThrow('The process of dying ended too early (exit code 3).')
    await contender.stop()
  })
})
