/** The most recent lines of the log, for display: all lines, including those below the log's level. */
import type { Log, LogFields } from './log.js'
import { Recent } from './recent.js'

export interface LogLine {
  readonly level: 'error' | 'info' | 'request'
  readonly message: string
  readonly fields: LogFields
}

const LINES_MAX = 1000

export class RecentLines {
  readonly lines: Recent<LogLine> = new Recent(LINES_MAX)

  /** The same log, whose lines are remembered. */
  listenTo(log: Log): Log {
    return {
      level: log.level,
      write: (level, message, fields = {}) => {
        this.lines.add({ level, message, fields })
        log.write(level, message, fields)
      },
    }
  }
}
