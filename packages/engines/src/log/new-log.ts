/**
 * How a log begins, as the first of a store or in place of another: with an id of its own, and positions that go on from the
 * time of day (0005).
 */
import { randomUUID } from 'node:crypto'
import { type Position, positionAtTime } from '@freshet/core/store'
import { type LogRecord, type LogState, NO_EFFECTS } from './log-record.js'
import { Turns } from './turns.js'

/** The new log begins beyond this position. */
export function anotherLog(position: Position): Pick<LogState, 'log' | 'position' | 'trimmedTo'> {
  const begin = Math.max(position + 1, positionAtTime(Date.now()))
  return { log: randomUUID(), position: begin, trimmedTo: begin }
}

export function firstRecord(): LogRecord {
  const position = positionAtTime(Date.now())
  const state: LogState = {
    log: randomUUID(),
    position,
    stamp: position,
    timeMs: 0,
    trimmedTo: position,
    firstPart: 0,
    applied: 0,
    done: [],
    again: [],
    append: new Turns().note,
  }
  return { slot: 0, id: randomUUID(), state, commits: [], effects: NO_EFFECTS }
}
