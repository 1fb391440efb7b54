/**
 * The certain half of Cristian's method: a clock that was read at `asked` or later, and showed `server`, is ahead by no more
 * than this. It has a file of its own because browsers load nothing else of the method unless they record.
 */
export function offsetMost(server: number, asked: number): number {
  return server - asked
}
