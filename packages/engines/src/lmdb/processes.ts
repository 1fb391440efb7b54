/** What tells one process, and one boot of the machine, from another. Empty where the system does not say. */
import { readFileSync } from 'node:fs'

/** When a process started, in ticks since the machine did: a number given to another process later has another. */
export function startOf(pid: number): string {
  return statOf(pid).startedAt
}

/** Whether the process that had this number, and started then, has not ended. */
export function isRunning(pid: number, startedAt: string): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  const stat = statOf(pid)
  return stat.startedAt === startedAt && !stat.hasEnded
}

interface ProcessStat {
  readonly startedAt: string
  readonly hasEnded: boolean
}

/**
 * A process that has ended is kept as a zombie until its parent has asked how. One whose main thread is a zombie but has others
 * has not ended: they may be in the middle of a flush.
 */
function statOf(pid: number): ProcessStat {
  const stat = readSystemFile(`/proc/${pid}/stat`)
  // The second field, the name of the program, is in brackets and may hold anything. After it, from the third on:
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, threads, startedAt = ''] = [fields[0], Number(fields[17]), fields[19]]
  return { startedAt, hasEnded: (state === 'Z' && threads <= 1) || state === 'X' }
}

export function bootId(): string {
  return readSystemFile('/proc/sys/kernel/random/boot_id').trim()
}

function readSystemFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
