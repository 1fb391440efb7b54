/**
 * The certain half of Cristian's method: a clock that was read at `asked` or later, and showed `server`, is ahead by no more
 * than this. In a file of its own, for it is all that browsers load unless they record.
 */
export function offsetMost(server: number, asked: number): number {
  return server - asked
}
