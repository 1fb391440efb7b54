/**
 * Under this name a store remembers, in digits, up to which position its data came with a copy of its files that was put in place of another. What was
 * newer than the copy may be lost. Absent: no such copy was noticed.
 */
export const COPIED_MEMORY = 'copied'
