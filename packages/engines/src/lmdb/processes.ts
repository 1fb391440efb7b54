/** Identifies a process, and a boot of the machine. Empty where the system does not provide it. */
import { readFileSync } from 'node:fs'

/** When a process started, in ticks since the machine did: a later process with the same id has another value. */
export function startOf(pid: number): string {
  return statOf(pid).startedAt
}

/** Whether the process with this id and start time has not ended. */
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
 * An ended process remains as a zombie until its parent has waited for it. A process whose main thread is a zombie but has
 * other threads has not ended: they may be in the middle of a flush.
 */
function statOf(pid: number): ProcessStat {
  const stat = readSystemFile(`/proc/${pid}/stat`)
  // The second field, the name of the program, is in parentheses and may contain anything. The fields after it, from the
  // third on:
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
