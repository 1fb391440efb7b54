/**
 * Which of our code runs for a piece of work, from V8's precise coverage of the built files `packages/NAME/dist`, with counted
 * calls. A file is touched if one of its functions was called. The lines are those of the called functions, without uncalled
 * functions inside them, blank lines and comments.
 */
import { readFileSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'

export interface Touched {
  /** Paths below `packages/`. */
  readonly files: readonly string[]
  readonly lines: number
  readonly functions: number
}

export class TouchedCode {
  readonly #session = new Session()
  /** The URL of the folder `packages`, with a trailing slash. */
  readonly #packages: string

  constructor(packages: URL) {
    this.#packages = packages.href
  }

  async start(): Promise<void> {
    this.#session.connect()
    await this.#session.post('Profiler.enable')
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  }

  stop(): void {
    this.#session.disconnect()
  }

  /** What runs from the beginning of `work` until its promise resolves, including timers that fire meanwhile. */
  async during(work: () => Promise<unknown>): Promise<Touched> {
    // Reading the coverage resets all counts.
    await this.#session.post('Profiler.takePreciseCoverage')
    await work()
    const { result } = await this.#session.post('Profiler.takePreciseCoverage')
    const scripts = result.filter(({ url }) => url.startsWith(this.#packages) && url.includes('/dist/'))
    const touched = scripts.filter(({ functions }) => functions.some(wasCalled))
    return {
      files: touched.map(({ url }) => url.slice(this.#packages.length)).sort(),
      lines: touched.reduce((sum, script) => sum + linesOf(script), 0),
      functions: touched.reduce((sum, { functions }) => sum + functions.filter(wasCalled).length, 0),
    }
  }
}

function wasCalled({ ranges }: Profiler.FunctionCoverage): boolean {
  return ranges[0]!.count > 0
}

function linesOf({ url, functions }: Profiler.ScriptCoverage): number {
  const text = readFileSync(fileURLToPath(url), 'utf8')
  const isRun = new Uint8Array(text.length)
  // The outer ones come first.
  for (const { ranges } of [...functions].sort((a, b) => a.ranges[0]!.startOffset - b.ranges[0]!.startOffset)) {
    const { startOffset, endOffset, count } = ranges[0]!
    isRun.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  }
  let offset = 0
  return text.split('\n').filter(line => {
    const start = offset
    offset += line.length + 1
    return !/^\s*(?:$|\/\/|\/?\*)/.test(line) && isRun.subarray(start, start + line.length).includes(1)
  }).length
}
