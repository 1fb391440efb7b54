/** Another revision of this repository, checked out, installed and built in a temporary folder, to be measured with this one. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { UsageError } from './usage-error.js'

/** The root of the tree that this code was built from. */
export const PRESENT_ROOT: string = fileURLToPath(new URL('../../../', import.meta.url))

export interface Checkout {
  readonly root: string
  readonly commit: string
  remove(): Promise<void>
}

const run = promisify(execFile)
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/** Throws a UsageError if git knows no such revision. */
export async function checkOut(revision: string): Promise<Checkout> {
  const commit = await commitOf(revision)
  const root = join(await mkdtemp(join(tmpdir(), 'freshet-against-')), 'tree')
  const checkout = { root, commit, remove: () => remove(root) }
  try {
    await git('worktree', 'add', '--detach', root, commit)
    // Installing also builds it.
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, maxBuffer: OUTPUT_BYTES_MAX })
    return checkout
  } catch (error) {
    await checkout.remove()
    throw error
  }
}

async function commitOf(revision: string): Promise<string> {
  try {
    return await git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`)
  } catch (cause) {
    throw new UsageError(`git knows no revision ${revision}. Pass a commit, a tag or a branch of this clone.`, {
      cause,
    })
  }
}

async function remove(root: string): Promise<void> {
  await rm(join(root, '..'), { recursive: true, force: true })
  await git('worktree', 'prune')
}

async function git(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('git', args, { cwd: PRESENT_ROOT })
  return stdout.trim()
}
