/** The child processes of this process, and their children, as Linux lists them. */
import { readdirSync, readFileSync } from 'node:fs'

export interface FoundProcess {
  readonly pid: number
  /** With its arguments; for a backend of PostgreSQL, the title that it sets. */
  readonly command: string
}

export function descendants(pid: number = process.pid): readonly FoundProcess[] {
  return childrenOf(pid).flatMap(child => [{ pid: child, command: commandOf(child) }, ...descendants(child)])
}

/** SIGSTOP: the process stalls. The returned function resumes it. */
export function stallProcess(pid: number): () => void {
  signal(pid, 'SIGSTOP')
  return () => signal(pid, 'SIGCONT')
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    // The process has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function childrenOf(pid: number): readonly number[] {
  return textsIn(() => readdirSync(`/proc/${pid}/task`)).flatMap(task =>
    textsIn(() => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean)).map(Number),
  )
}

function commandOf(pid: number): string {
  return textsIn(() => [readFileSync(`/proc/${pid}/cmdline`, 'utf8')])
    .join('')
    .replaceAll('\0', ' ')
}

/** Returns nothing for a process that has ended meanwhile. */
function textsIn(read: () => string[]): readonly string[] {
  try {
    return read()
  } catch {
    return []
  }
}
