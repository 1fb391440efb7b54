/**
 * The name under which a store remembers, in digits, the position up to which its data came with a copy of its files that
 * replaced others. Anything newer than the copy may be lost. Absent: no such copy was noticed.
 */
export const COPIED_MEMORY = 'copied'
