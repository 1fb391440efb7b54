/** What tells one process, and one boot of the machine, from another. Empty where the system does not say. */
import { readFileSync } from 'node:fs'

/** When a process started, in ticks since the machine did: a number given to another process later has another. */
export function startOf(pid: number): string {
  // The second field, the name of the program, is in brackets and may hold anything; the start is the 22nd.
  const stat = readSystemFile(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
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
